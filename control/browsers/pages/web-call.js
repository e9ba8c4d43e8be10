import { $, keypad, say, show, showWay, startClock, toggle } from './page.js'
import { startWithToken } from './token-start.js'

let sound = null
let line = null
let stopClock = () => {}

startWithToken((openLine, openSound) => {
  line = openLine
  sound = openSound
  showWay(line)
  line.addEventListener('stop', hangup)
  line.addEventListener('closed', hangup)
  line.addEventListener('start', () => {
    $('state').textContent = 'Connected'
  })
  stopClock = startClock(sound)
  show('call')
  say('')
})

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
