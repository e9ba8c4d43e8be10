import { $, keypad, say, show, startClock, toggle } from './page.js'
import { startWithToken } from './token-start.js'

let sound = null
let line = null
let stopClock = () => {}
let stopRinging = () => {}
let statusTimer

startWithToken((openLine, openSound) => {
  line = openLine
  sound = openSound
  line.addEventListener('ring', ({ detail }) => ring(detail))
  line.addEventListener('start', inCall)
  line.addEventListener('stop', ({ detail }) => idle(ENDS[detail?.reason] ?? 'The call is over.'))
  line.addEventListener('control', ({ detail }) => told(detail))
  line.addEventListener('closed', () => {
    clearInterval(statusTimer)
    stopRinging()
    stopClock()
    sound.close()
    show('ready')
    $('start').hidden = true
    say('The softphone is disconnected. Ask for a new link to connect again.', true)
  })
  // A wrap-up ends by itself.
  statusTimer = setInterval(() => line.control({ type: 'status' }), STATUS_MS)
  idle('')
})

const STATUS_MS = 10_000
const ENDS = { no_answer: 'Missed call.', api_hangup: 'The caller has gone.' }

function idle(text) {
  stopRinging()
  stopClock()
  stopClock = () => {}
  show('idle')
  line.control({ type: 'status' })
  for (const id of ['mute', 'hold']) $(id).setAttribute('aria-pressed', 'false')
  sound.muted = false
  say(text)
}

function ring({ caller, queue, dialled }) {
  if (dialled !== undefined) {
    // What was dialled here comes back as a ring, and needs no second click.
    $('caller').textContent = dialled
    $('queue').textContent = 'Calling'
    line.accept()
    return
  }
  $('caller').textContent = caller ?? 'Unknown caller'
  $('queue').textContent = queue ?? ''
  show('ringing')
  say('')
  stopRinging()
  stopRinging = sound.ring()
  document.title = `☎ ${caller ?? 'Call'}`
}

function inCall() {
  stopRinging()
  document.title = 'Softphone'
  $('with').textContent = $('caller').textContent
  $('state').textContent = $('queue').textContent
  stopClock = startClock(sound)
  show('call')
}

/** What control says: the agent's status, that something was done, or could not be. */
function told({ type, status, held, message }) {
  if (type === 'status') $('status').value = status
  else if (type === 'hold') $('hold').setAttribute('aria-pressed', String(held))
  else if (type === 'done') say(message)
  else if (type === 'refused') say(message, true)
}

$('accept').addEventListener('click', () => line.accept())
$('decline').addEventListener('click', () => line.stop())
$('leave').addEventListener('click', () => line.stop())
toggle($('mute'), isOn => {
  sound.muted = isOn
})
$('hold').addEventListener('click', () => {
  line.control({ type: $('hold').getAttribute('aria-pressed') === 'true' ? 'unhold' : 'hold' })
})
$('status').addEventListener('change', () => line.control({ type: 'status', status: $('status').value }))
$('transfer').addEventListener('submit', event => {
  event.preventDefault()
  line.control({ type: 'transfer', to: $('to').value.trim() })
})
$('dial').addEventListener('submit', event => {
  event.preventDefault()
  line.control({ type: 'dial', to: $('number').value.trim() })
})
keypad(digit => {
  if (line?.isInCall) line.key(digit)
  else $('number').value += digit
})
