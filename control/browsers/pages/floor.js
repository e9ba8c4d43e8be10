import { $ } from './page.js'

/** How often a supervisor's page asks for the floor [ms]. */
const LOOK_MS = 2000
const MODES = [
  ['monitor', 'Listen'],
  ['whisper', 'Whisper'],
  ['barge', 'Barge in'],
  ['stop', 'Stop'],
]
const STATUSES = { available: 'Available', away: 'Away', busy: 'Busy', wrap_up: 'Wrap-up', offline: 'Offline' }

/** What a supervisor sees: calls with their alerts, agents, queues. `send`: to control. */
export class Floor {
  #send
  #timer
  /** The call that this page listens to, and how; null: none. */
  listening = null

  constructor(send) {
    this.#send = send
    $('floor').addEventListener('click', ({ target }) => {
      const { callId, mode } = target.dataset
      if (mode !== undefined) this.#send({ type: 'supervise', call_id: callId, mode })
    })
  }

  open() {
    this.close()
    this.#send({ type: 'floor' })
    this.#timer = setInterval(() => this.#send({ type: 'floor' }), LOOK_MS)
  }

  close() {
    clearInterval(this.#timer)
  }

  show({ at, agents, queues, calls }) {
    const nameOf = userId => agents.find(agent => agent.user_id === userId)?.name ?? userId
    $('floor').hidden = false
    document.body.classList.add('desktop')
    fill('floor-calls', calls, call => [
      nameOf(call.user_id),
      call.party,
      between(call.started, at),
      alertList(call.alerts),
      this.#modes(call.call_id, nameOf(call.user_id)),
    ])
    this.#announce(calls.flatMap(call => call.alerts.map(alert => `${nameOf(call.user_id)}: ${alertText(alert)}`)))
    fill('floor-agents', agents, agent => [
      agent.name,
      agent.ringing ? 'Ringing' : STATUSES[agent.status],
      between(agent.since, at),
    ])
    fill('floor-queues', queues, queue => [
      queue.name,
      queue.waiting,
      queue.longest_wait_since === null ? '' : between(queue.longest_wait_since, at),
      queue.answered,
      queue.abandoned,
      queue.service_level_pct === null ? '' : `${queue.service_level_pct} %`,
    ])
  }

  /** What is new is read out; the tables are drawn anew every time. */
  #announce(alerts) {
    const region = $('floor-alerts')
    const told = [...region.children].map(line => line.textContent)
    for (const line of [...region.children]) if (!alerts.includes(line.textContent)) line.remove()
    for (const text of alerts) {
      if (!told.includes(text)) region.append(Object.assign(document.createElement('p'), { textContent: text }))
    }
  }

  #modes(callId, name) {
    const now = this.listening?.call_id === callId ? this.listening.mode : null
    return MODES.filter(([mode]) => mode !== 'stop' || now !== null).map(([mode, label]) => {
      const button = document.createElement('button')
      Object.assign(button, { type: 'button', textContent: label })
      Object.assign(button.dataset, { callId, mode })
      button.setAttribute('aria-label', `${label}: ${name}`)
      if (mode !== 'stop') button.setAttribute('aria-pressed', String(mode === now))
      return button
    })
  }
}

/** Rows in place, so that the focus of who uses the keyboard stays where it is. */
function fill(id, rows, cellsOf) {
  const body = $(id)
  const columns = [...body.parentElement.querySelectorAll('th')].map(cell => cell.textContent)
  const focused = document.activeElement?.dataset ?? {}
  const lines = rows.map(row => {
    const line = document.createElement('tr')
    line.setAttribute('role', 'row')
    line.append(
      ...cellsOf(row).map((content, i) => {
        const cell = document.createElement('td')
        cell.setAttribute('role', 'cell')
        cell.dataset.column = columns[i]
        cell.dir = 'auto'
        cell.append(...[content].flat())
        return cell
      }),
    )
    return line
  })
  body.replaceChildren(...lines)
  if (focused.callId === undefined) return
  const again = [...body.querySelectorAll('button')].find(
    ({ dataset }) => dataset.callId === focused.callId && dataset.mode === focused.mode,
  )
  again?.focus()
}

function alertList(alerts) {
  return alerts.map(alert => {
    const line = document.createElement('p')
    line.className = `hint ${alert.severity}`
    line.textContent = alertText(alert)
    return line
  })
}

const alertText = ({ label, message }) => (message === '' ? label : `${label}: ${message}`)

/** Both by the clock of control: that of this machine may be wrong. */
function between(since, at) {
  const seconds = Math.max(0, Math.round((Date.parse(at) - Date.parse(since)) / 1000))
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  const rest = String(seconds % 60).padStart(2, '0')
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`
}
