import { CallLine } from './call-line.js'
import { $, say, show, showWay, startClock, toggle } from './page.js'
import { Sound } from './sound.js'

const POLL_MS = 1000
const REFUSALS = {
  'room-locked': 'The room is locked: only a moderator lets more people in.',
  'room-full': 'The room is full.',
  'room-closed': 'The room is closed.',
  'too-many-tries': 'Too many wrong PINs.',
}

let sound = null
let line = null
let stopClock = () => {}
let poll

$('join').addEventListener('submit', async event => {
  event.preventDefault()
  const button = $('join').querySelector('button')
  button.disabled = true
  say('One moment…')
  try {
    await join()
  } catch (error) {
    say(error.message, true)
  }
  button.disabled = false
})

async function join() {
  const ticket = await askToJoin()
  if (ticket === null) return
  sound = await Sound.open()
  line = await CallLine.open(ticket.ws_url, ticket.client_token, sound).catch(error => {
    sound.close()
    throw error
  })
  showWay(line)
  line.addEventListener('stop', () => leave())
  line.addEventListener('closed', () => leave())
  stopClock = startClock(sound)
  show('call')
  say('')
  follow(ticket.call_id)
}

/** The way in, or null when the form is to be filled in again. */
async function askToJoin() {
  const pin = $('pin')?.value.trim() ?? ''
  const body = { name: $('name').value.trim(), ...(pin === '' ? {} : { pin }) }
  const response = await fetch(location.pathname, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer = await response.json()
  if (response.ok) return answer
  const { message, param, details } = answer.error
  const left = details?.tries_left
  say(left === undefined ? message : `${message} ${left === 1 ? 'One try is' : `${left} tries are`} left.`, true)
  const field = $(param ?? '') ?? $('name')
  field.setAttribute('aria-invalid', 'true')
  field.focus()
  return null
}

/** Asks how far the call is: the rows know, whichever process was restarted meanwhile. */
function follow(callId) {
  const look = async () => {
    const response = await fetch(`${location.pathname}/calls/${callId}`).catch(() => null)
    if (response?.ok) tell(await response.json())
    if (line !== null) poll = setTimeout(look, POLL_MS)
  }
  void look()
}

let refusal = null

function tell({ state, reason, participants }) {
  const others = participants - 1
  const words = {
    connecting: 'Connecting…',
    waiting: 'Waiting for the moderator. You will hear music until then.',
    seated:
      others < 1
        ? 'You are the first one here.'
        : others === 1
          ? 'With one other person.'
          : `With ${others} other people.`,
  }
  if (state === 'refused') refusal = REFUSALS[reason] ?? 'The room does not let you in.'
  $('state').textContent = words[state] ?? refusal ?? 'The call is over.'
  $('call').dataset.state = state
}

toggle($('mute'), isOn => {
  sound.muted = isOn
})
$('leave').addEventListener('click', () => {
  line?.stop()
  leave()
})
for (const input of document.querySelectorAll('input')) {
  input.addEventListener('input', () => input.removeAttribute('aria-invalid'))
}

function leave() {
  if (line === null) return
  const over = line
  line = null
  clearTimeout(poll)
  stopClock()
  over.close()
  sound.close()
  $('mute').setAttribute('aria-pressed', 'false')
  show('join')
  say(refusal ?? 'You have left the room.', refusal !== null)
  refusal = null
}
