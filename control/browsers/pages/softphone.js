import { CallLine } from './call-line.js'
import { CopilotPanel } from './copilot-panel.js'
import { Floor } from './floor.js'
import { forgetTokens, keepToken, keptTokens } from './kept-tokens.js'
import { $, keypad, say, show, showWay, startClock, toggle } from './page.js'
import { PreviewPanel } from './preview-panel.js'
import { startWithToken } from './token-start.js'

let sound = null
let line = null
const TITLE = document.title
let stopClock = () => {}
let stopRinging = () => {}
/** The running call that this connection goes on with, as media tells of it; null: none. */
let goesOn = null
/** Why the call is over that this page was in, as media tells before it stops; null: it was in none. */
let endedBy = null
/** The call that this page has asked to listen to: it rings, and is taken at once. */
let listensTo = null
const copilot = new CopilotPanel(wish => line.control(wish))
const preview = new PreviewPanel(wish => line.control(wish))
/** Null: this is no supervisor's page. */
const floor = $('floor') === null ? null : new Floor(ofFloor)
let statusTimer
let renewTimer

startWithToken((openLine, openSound) => {
  sound = openSound
  use(openLine)
}, keptTokens()[0])

/** From now on this is the line; it renews the token that opens the next one. */
function use(openLine) {
  line = openLine
  showWay(line)
  const wasMuted = sessionStorage.getItem(MUTED) !== null
  line.addEventListener('ring', ({ detail }) => ring(detail))
  line.addEventListener('start', inCall)
  line.addEventListener('stop', ({ detail }) => idle(endOf(detail?.reason)))
  line.addEventListener('control', ({ detail }) => told(detail))
  line.addEventListener('closed', ({ detail }) => lost(detail))
  line.control({ type: 'renew' })
  line.control({ type: 'copilot' })
  floor?.open()
  // A wrap-up ends by itself, and what campaigns there are is decided elsewhere.
  statusTimer = setInterval(() => {
    line.control({ type: 'status' })
    preview.look()
  }, STATUS_MS)
  renewTimer = setInterval(() => line.control({ type: 'renew' }), RENEW_MS)
  const listened = sessionStorage.getItem(LISTENING)
  idle('')
  if (wasMuted) sessionStorage.setItem(MUTED, 'yes')
  if (listened !== null) sessionStorage.setItem(LISTENING, listened)
}

function lost({ code }) {
  clearInterval(statusTimer)
  clearInterval(renewTimer)
  floor?.close()
  preview.close()
  quiet()
  stopClock()
  if (code === REPLACED) return disconnected('This softphone is open in another tab now.')
  if (code === NO_LONGER_WELCOME) return disconnected('You are no longer a member here. Ask your administrator.')
  if (keptTokens().length === 0) return disconnected()
  show('idle')
  say('The connection is lost. Connecting again…', true)
  connectAgain(Date.now() + AWAY_MS, 0)
}

/** Again and again, with the tokens in turn, for as long as they are valid. */
async function connectAgain(until, tries) {
  const tokens = keptTokens()
  try {
    use(await CallLine.open(document.body.dataset.wsUrl, tokens[tries % tokens.length], sound))
  } catch {
    if (Date.now() > until) return disconnected()
    setTimeout(() => connectAgain(until, tries + 1), Math.min(500 * 2 ** Math.min(tries, 4), MAX_WAIT_MS))
  }
}

function disconnected(why = 'The softphone is disconnected. Ask for a new link to connect again.') {
  forgetTokens()
  sound.close()
  show('ready')
  $('start').hidden = true
  say(why, true)
}

/** A call that goes on after a reload is muted as it was. */
const MUTED = 'tandem-softphone-muted'
/** Which call a supervisor listens to, and how: that goes on after a reload too. */
const LISTENING = 'tandem-softphone-listening'
const STATUS_MS = 10_000
const RENEW_MS = 300_000
/** How long the tokens are valid. */
const AWAY_MS = 3_600_000
const MAX_WAIT_MS = 5000
/** WebSocket close code: the member is no longer active. */
const NO_LONGER_WELCOME = 1008
/** The same softphone is connected elsewhere, by a tab that was duplicated. */
const REPLACED = 1000
/** Why it rings no more. */
const SILENT = {
  no_answer: 'Missed call.',
  caller_hangup: 'The caller has gone.',
  answered_elsewhere: 'Answered elsewhere.',
}
/** Why a call is over that this page was in. */
const ENDS = {
  busy: 'The line is busy.',
  no_answer: 'Nobody has answered.',
  rejected: 'The call was declined.',
  not_found: 'Nobody has that number.',
  caller_hangup: 'The other one has hung up.',
  transfer_completed: 'The call has been transferred.',
}

function endOf(reason) {
  if (floor?.listening != null) return 'You have left the call.'
  return (endedBy === null ? SILENT[reason] : ENDS[endedBy]) ?? 'The call is over.'
}

function idle(text) {
  quiet()
  endedBy = null
  stopClock()
  stopClock = () => {}
  show('idle')
  line.control({ type: 'status' })
  preview.look()
  for (const id of ['mute', 'hold']) $(id).setAttribute('aria-pressed', 'false')
  sound.muted = false
  sessionStorage.removeItem(MUTED)
  sessionStorage.removeItem(LISTENING)
  if (floor !== null) floor.listening = null
  say(text)
}

/** No phone rings here, and the tab does not say so. */
function quiet() {
  stopRinging()
  stopRinging = () => {}
  document.title = TITLE
}

function ring({ caller, queue, dialled, call_id: callId, callback_id: callbackId }) {
  if (callId !== undefined && callId === listensTo) {
    listensTo = null
    $('caller').textContent = caller ?? 'Unknown caller'
    $('queue').textContent = 'Listening in'
    line.accept()
    return
  }
  if (dialled !== undefined) {
    // What was dialled here comes back as a ring, and needs no second click.
    $('caller').textContent = dialled
    $('queue').textContent = 'Calling'
    line.accept()
    return
  }
  $('caller').textContent = caller ?? 'Unknown caller'
  $('queue').textContent = [callbackId === undefined ? [] : 'Callback', queue ?? []].flat().join(', ')
  if (callId !== undefined && callId === preview.callId) {
    copilot.close()
    return line.accept()
  }
  show('ringing')
  copilot.close()
  say('')
  quiet()
  stopRinging = sound.ring()
  document.title = `☎ ${caller ?? 'Call'}`
}

function inCall() {
  quiet()
  $('with').textContent = $('caller').textContent
  onHold(goesOn?.held === true)
  stopClock()
  stopClock = startClock(sound, goesOn?.seconds)
  if (goesOn === null) sessionStorage.removeItem(MUTED)
  goesOn = null
  show('call')
}

/** The other one has put this call on hold. */
function onHold(isHeld) {
  $('state').textContent = isHeld ? 'You are on hold' : $('queue').textContent
}

/** The connection was lost in the middle of this call; it starts again at once. */
function goOn(call) {
  goesOn = call
  $('caller').textContent = call.dialled ?? call.caller ?? 'Unknown caller'
  $('queue').textContent = call.dialled === undefined ? (call.queue ?? '') : 'Calling'
  sound.muted = sessionStorage.getItem(MUTED) !== null
  $('mute').setAttribute('aria-pressed', String(sound.muted))
  const listened = JSON.parse(sessionStorage.getItem(LISTENING))
  if (floor !== null && listened?.call_id === call.call_id) floor.listening = listened
}

/** Its ring may come before the answer. */
function ofFloor(wish) {
  if (wish.type === 'supervise' && wish.mode !== 'stop') listensTo = wish.call_id
  line.control(wish)
}

function listens({ call_id, mode }) {
  floor.listening = mode === 'stop' ? null : { call_id, mode }
  sessionStorage.setItem(LISTENING, JSON.stringify(floor.listening))
}

/** What control says: the agent's status, that something was done, or could not be. */
function told(control) {
  const { type, status, held, message, token, reason } = control
  if (type === 'status') $('status').value = status
  if (type === 'status' || type === 'hold') $('hold').setAttribute('aria-pressed', String(held))
  else if (type === 'on_hold') onHold(held)
  else if (type === 'ended') endedBy = reason
  else if (type === 'call') goOn(control)
  else if (type === 'token') keepToken(token)
  else if (type === 'floor') floor?.show(control)
  else if (type === 'preview') preview.show(control)
  else if (type === 'listening') listens(control)
  else if (type === 'copilot_session') copilot.open(control.session)
  else if (type === 'copilot_message') copilot.take(control.message)
  else if (type === 'copilot_gone') copilot.leave(control.session_id)
  else if (type === 'done') say(message)
  else if (type === 'refused') {
    listensTo = null
    say(message, true)
    copilot.refused()
  }
}

$('accept').addEventListener('click', () => line.accept())
$('decline').addEventListener('click', () => line.stop())
$('leave').addEventListener('click', () => line.stop())
toggle($('mute'), isOn => {
  sound.muted = isOn
  if (isOn) sessionStorage.setItem(MUTED, 'yes')
  else sessionStorage.removeItem(MUTED)
})
$('hold').addEventListener('click', () => {
  line.control({ type: $('hold').getAttribute('aria-pressed') === 'true' ? 'unhold' : 'hold' })
})
$('status').addEventListener('change', () => line.control({ type: 'status', status: $('status').value }))
$('transfer').addEventListener('submit', event => {
  event.preventDefault()
  line.control({ type: 'transfer', to: $('to').value.trim() })
})
$('callback').addEventListener('submit', event => {
  event.preventDefault()
  line.control({ type: 'callback', note: $('note').value })
  $('note').value = ''
})
$('dial').addEventListener('submit', event => {
  event.preventDefault()
  line.control({ type: 'dial', to: $('number').value.trim() })
})
keypad(digit => {
  if (line?.isInCall) line.key(digit)
  else $('number').value += digit
})
