import { $, say } from './page.js'

/**
 * Contacts of campaigns that an agent sees before they are called. What control tells is shown whole, each time. `send`: what the agent
 * decides.
 */
export class PreviewPanel {
  #send
  /** The one that is shown; null: none. */
  #contact = null
  /** Until when it is this agent's, by `performance.now()`. */
  #until = 0
  #timer
  #hasAsked = false
  /** The call that was asked for here: its contact has answered when it rings, and waits for nobody. */
  callId = null

  constructor(send) {
    this.#send = send
    $('preview-claim').addEventListener('click', () =>
      this.#tell('claim', { campaign_id: $('preview-campaigns').value }),
    )
    $('preview-call').addEventListener('click', () => {
      this.#hasAsked = true
      this.#tell('call')
    })
    $('preview-skip').addEventListener('submit', event => {
      event.preventDefault()
      const minutes = Number($('preview-again').value)
      this.#tell('skip', { reason: $('preview-reason').value.trim(), retry_minutes: minutes || null })
    })
  }

  /** Asks how things are. */
  look() {
    this.#send({ type: 'preview' })
  }

  show({ campaigns, contact, refused }) {
    const hadFocus = $('preview').contains(document.activeElement)
    const isNew = contact !== null && contact.id !== this.#contact?.id
    this.#contact = contact
    this.callId = this.#hasAsked ? (contact?.call_id ?? null) : null
    if (contact === null || contact.call_id === null) this.#hasAsked = false
    $('preview').hidden = campaigns.length === 0 && contact === null
    fillChoice(campaigns)
    $('preview-choice').hidden = contact !== null || campaigns.length < 2
    $('preview-claim').hidden = contact !== null || campaigns.length === 0
    $('preview-contact').hidden = contact === null
    if (isNew) this.#fill(contact)
    clearInterval(this.#timer)
    const isOurs = contact !== null && contact.seconds_left !== null
    for (const id of ['preview-call', 'preview-skip', 'preview-left']) $(id).hidden = !isOurs
    if (isOurs) this.#count(contact.seconds_left)
    if (refused !== null) say(refused, true)
    // What had the focus may be gone.
    if (hadFocus && !document.activeElement.checkVisibility()) $(isOurs ? 'preview-call' : 'preview-claim').focus()
    if (isNew && hadFocus) $('preview-call').focus()
  }

  close() {
    clearInterval(this.#timer)
    $('preview').hidden = true
  }

  #tell(what, more = {}) {
    say('')
    const { id: contact_id, campaign_id } = this.#contact ?? {}
    this.#send({ type: 'preview', do: what, campaign_id, contact_id, ...more })
  }

  #fill({ name, phone, metadata, attempts, last_result: result }) {
    $('preview-name').textContent = name || phone
    $('preview-phone').textContent = phone
    const facts = Object.entries(metadata)
    if (attempts > 0 || result !== null)
      facts.push(['Attempts', result === null ? attempts : `${attempts}, last: ${result}`])
    $('preview-facts').replaceChildren(...facts.flatMap(([key, value]) => [textOf('dt', key), textOf('dd', value)]))
    $('preview-reason').value = ''
    $('preview-again').value = ''
  }

  #count(seconds) {
    this.#until = performance.now() + seconds * 1000
    const tell = () => {
      const left = Math.max(0, Math.ceil((this.#until - performance.now()) / 1000))
      $('preview-left').textContent = `Yours for ${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`
      if (left > 0) return
      clearInterval(this.#timer)
      this.look()
    }
    this.#timer = setInterval(tell, 500)
    tell()
  }
}

function textOf(name, text) {
  return Object.assign(document.createElement(name), { dir: 'auto', textContent: text })
}

/** What is chosen stays; a list that is open is not drawn anew. */
function fillChoice(campaigns) {
  const select = $('preview-campaigns')
  const isSame = campaigns.length === select.length && campaigns.every(({ id }, i) => select.options[i].value === id)
  if (isSame) return
  const chosen = select.value
  select.replaceChildren(...campaigns.map(({ id, name }) => new Option(name, id, false, id === chosen)))
}
