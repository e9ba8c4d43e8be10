import { CallLine } from './call-line.js'
import { $, keypad, say, show, startClock, toggle } from './page.js'
import { microphoneProblem, Sound } from './sound.js'

// Behind the #, so that no server and no log sees the token.
const token = new URLSearchParams(location.hash.slice(1)).get('client_token')
let sound = null
let line = null
let stopClock = () => {}

if (token === null) {
  $('start').disabled = true
  say('The link lacks its token: ask for a new one.', true)
}

$('start').addEventListener('click', async () => {
  $('start').disabled = true
  say('One moment…')
  try {
    await call()
  } catch (error) {
    say(error.message, true)
    sound?.close()
    $('start').disabled = false
  }
})

async function call() {
  try {
    sound = await Sound.open()
  } catch (error) {
    throw new Error(microphoneProblem(error))
  }
  line = await CallLine.open(document.body.dataset.wsUrl, token, sound)
  line.addEventListener('stop', hangup)
  line.addEventListener('closed', hangup)
  line.addEventListener('start', () => {
    $('state').textContent = 'Connected'
  })
  stopClock = startClock(sound)
  show('call')
  say('')
}

toggle($('mute'), isOn => {
  sound.muted = isOn
})
keypad(digit => line?.key(digit))
$('leave').addEventListener('click', () => {
  line?.stop()
  hangup()
})

function hangup() {
  if (line === null) return
  const over = line
  line = null
  stopClock()
  over.close()
  sound.close()
  show('ready')
  $('start').hidden = true
  say('The call is over. A link works once; ask for a new one to call again.')
}
