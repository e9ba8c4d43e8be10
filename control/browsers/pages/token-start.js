import { CallLine } from './call-line.js'
import { $, say } from './page.js'
import { Sound } from './sound.js'

/**
 * A page whose link carries a client token: its start button opens the microphone and the call WebSocket. `ready(line, sound)` is
 * called before anything arrives on the line. `kept`: a token to begin with by itself, the link's being used up.
 */
export function startWithToken(ready, kept = null) {
  // Behind the #, so that no server and no log sees it.
  const token = kept ?? new URLSearchParams(location.hash.slice(1)).get('client_token')
  if (token === null) {
    $('start').disabled = true
    say('The link lacks its token: ask for a new one.', true)
  }
  $('start').addEventListener('click', async () => {
    $('start').disabled = true
    say('One moment…')
    let sound
    try {
      sound = await Sound.open()
      ready(await CallLine.open(document.body.dataset.wsUrl, token, sound), sound)
    } catch (error) {
      say(error.message, true)
      sound?.close()
      $('start').disabled = false
    }
  })
  if (kept !== null) $('start').click()
}
