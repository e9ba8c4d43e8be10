import { $ } from './page.js'

/**
 * The copilot beside a call: what the session is, and then each message as it comes. A message that takes another's place, or takes it
 * back, names it. `send`: what the agent decides.
 */
export class CopilotPanel {
  #send
  #sessionId = null
  /** What items are called, by stage and key. */
  #items = new Map()
  /** What holds, by message: shown as a hint, an item that is done, a field. */
  #shown = new Map()
  /** Messages that came already: after a break all that hold come again. */
  #seen = new Set()

  constructor(send) {
    this.#send = send
    $('ask').addEventListener('submit', event => {
      event.preventDefault()
      this.#tell({ do: 'ask', question: $('question').value.trim() })
      $('question').value = ''
    })
    $('script-next').addEventListener('click', () => this.#tell({ do: 'script' }))
    $('script-back').addEventListener('click', () => this.#tell({ do: 'script', back: true }))
    $('stage-next').addEventListener('click', () => this.#tell({ do: 'script' }))
    $('stage-back').addEventListener('click', () => this.#tell({ do: 'script', back: true }))
  }

  /** Whole, after the call was answered or the page was loaded again; its messages follow. */
  open(session) {
    // What is being typed stays.
    if (session.id === this.#sessionId) return
    this.#sessionId = session.id
    this.#shown.clear()
    this.#seen.clear()
    this.#items = new Map(
      session.stages.flatMap(stage => stage.checklist.map(({ key, label }) => [`${stage.key}/${key}`, label])),
    )
    for (const id of ['alerts', 'hints', 'said-lines', 'links']) $(id).replaceChildren()
    $('checklist').replaceChildren(...session.stages.flatMap(stage => this.#stage(stage)))
    $('fields').replaceChildren(...session.fields.map(field => this.#field(field)))
    $('disclosures').replaceChildren(...session.disclosures.map(disclosureLine))
    $('links').replaceChildren(...session.links.map(linkLine))
    for (const [id, list] of [
      ['checklist-part', session.stages],
      ['fields-part', session.fields],
      ['disclosures-part', session.disclosures],
    ])
      $(id).hidden = list.length === 0
    $('script').hidden = session.script === null
    $('stage-moves').hidden = session.script !== null || session.stages.length < 2
    this.#goTo(session.stages.find(({ key }) => key === session.stage) ?? null)
    showMood(session.mood)
    $('deaf').textContent = session.hearing === 'none' ? `What is said is not heard: ${session.hearing_reason}` : ''
    $('copilot').dir = directionOf(session)
    $('copilot').hidden = false
    document.body.classList.add('desktop')
  }

  close() {
    this.#sessionId = null
    $('copilot').hidden = true
    document.body.classList.remove('desktop')
  }

  /** Another member's now. */
  leave(sessionId) {
    if (sessionId === this.#sessionId) this.close()
  }

  take(message) {
    if (message.session_id !== this.#sessionId || this.#seen.has(message.id)) return
    this.#seen.add(message.id)
    const gone = message.withdraws ?? message.replaces
    const before = this.#shown.get(gone)
    this.#shown.delete(gone)
    if (message.withdraws !== null) return before?.()
    this.#shown.set(message.id, this.#show(message))
  }

  /** What an agent wrote was not taken: the fields are what they were. */
  refused() {
    for (const input of $('fields').querySelectorAll('[data-known]')) {
      if (input.dataset.typed === undefined) input.value = input.dataset.known
    }
  }

  #tell(wish) {
    this.#send({ type: 'copilot', session_id: this.#sessionId, ...wish })
  }

  /** Shows it; returns how to take it back. */
  #show({ id, type, data, replaces, utterance_ids: [utteranceId] }) {
    const hint = () => this.#hint({ id, type, data, replaces, utteranceId })
    switch (type) {
      case 'stage':
        this.#goTo(data)
        return () => this.#goTo(null)
      case 'checklist':
        return tick(`item-${data.stage}-${data.key}`, data)
      case 'field':
        return fill(data)
      case 'transcript':
        return sayLine(data)
      case 'sentiment':
        showMood(data.mood)
        return () => showMood('neutral')
      case 'script':
        return this.#showStep(data)
      case 'compliance':
        return data.kind === 'required_disclosure' ? disclosed(data) : hint()
      default:
        return hint()
    }
  }

  #goTo(stage) {
    $('stage-name').textContent = stage?.label ?? 'Copilot'
    $('stage-goal').textContent = stage?.goal ?? ''
    for (const group of $('checklist').querySelectorAll('[data-stage]')) {
      const isCurrent = group.dataset.stage === stage?.key
      const was = group.hasAttribute('aria-current')
      if (isCurrent) group.setAttribute('aria-current', 'step')
      else group.removeAttribute('aria-current')
      // The one that is being used stays open, and what the agent has opened until the next stage.
      if (isCurrent !== was) group.open = isCurrent || group.contains(document.activeElement)
      count(group)
    }
  }

  #stage({ key, label, checklist }) {
    if (checklist.length === 0) return []
    const items = checklist.map(item => {
      const box = make('input', {
        type: 'checkbox',
        id: `item-${key}-${item.key}`,
        checked: item.done,
        title: item.ask,
      })
      box.addEventListener('change', () =>
        this.#tell({ do: 'checklist', stage: key, key: item.key, done: box.checked }),
      )
      const name = make('span', { dir: 'auto', textContent: item.required ? `${item.label} *` : item.label })
      const ask = item.ask === '' ? [] : [make('small', { dir: 'auto', className: 'ask', textContent: item.ask })]
      return make('label', { className: 'item' }, box, make('span', {}, name, ...ask))
    })
    const name = make('span', { dir: 'auto', textContent: label })
    const group = make('details', {}, make('summary', {}, name, make('span', { className: 'count' })), ...items)
    group.dataset.stage = key
    count(group)
    return [group]
  }

  #field({ key, label, type, required, options, value }) {
    const isChoice = type === 'choice' && options.length > 0
    const input = isChoice ? choiceOf(options) : make('input', { autocomplete: 'off' })
    Object.assign(input, { id: `field-${key}`, dir: DIRECTIONS[type] ?? 'auto', value: value ?? '' })
    input.dataset.known = value ?? ''
    if (!isChoice) input.inputMode = KEYBOARDS[type] ?? 'text'
    input.addEventListener('input', () => {
      input.dataset.typed = 'yes'
    })
    input.addEventListener('change', () => {
      delete input.dataset.typed
      this.#tell({ do: 'field', key, value: input.value.trim() || null })
    })
    const name = make('span', { dir: 'auto', textContent: required ? `${label} *` : label })
    return make('label', {}, name, input)
  }

  #showStep({ node_key: nodeKey, text, label, choices = [] }) {
    $('script').hidden = false
    $('script-step').textContent = nodeKey === null ? 'The script is over.' : text || label
    const ways = choices.length > 1 ? choices : []
    const buttons = ways.map(choice => {
      const button = make('button', { type: 'button', dir: 'auto', textContent: choice.label })
      button.addEventListener('click', () => this.#tell({ do: 'script', choice: choice.key }))
      return button
    })
    $('script-choices').replaceChildren(...buttons)
    $('script-next').hidden = nodeKey === null || ways.length > 0
    return () => {}
  }

  /** Something to read and to put away. Critical ones are read out at once. */
  #hint({ id, type, data, replaces, utteranceId }) {
    const words = HINT_WORDS[type]?.(data, this.#items) ?? { head: type, lines: [JSON.stringify(data)] }
    const { head, lines, passages = [] } = words
    const away = make('button', { type: 'button', textContent: 'Dismiss' })
    away.setAttribute('aria-label', `Dismiss: ${head}`)
    const isFact = data.kind === 'do_not_call'
    const isAlert = isFact || type === 'alert' || data.kind === 'forbidden_phrase'
    const article = make(
      'article',
      { className: `hint ${type} ${data.severity ?? ''}`.trim(), id },
      make(isAlert ? 'h3' : 'h4', { dir: 'auto', textContent: head }),
      ...lines.filter(Boolean).map(line => make('p', { dir: 'auto' }, ...[line].flat())),
      ...sourceOf(passages),
      ...(type === 'summary' ? [] : [away]),
    )
    // What is so stays so, whoever has read it.
    away.addEventListener('click', () => (isFact ? putAway(article) : this.#tell({ do: 'dismiss', message_id: id })))
    if (utteranceId !== undefined) article.dataset.utterance = utteranceId
    const before = replaces === null ? null : $(replaces)
    if (before === null) $(isAlert ? 'alerts' : 'hints').prepend(article)
    else takePlace(before, article)
    return () => putAway(article)
  }
}

const KEYBOARDS = { number: 'decimal', money: 'decimal', phone: 'tel', email: 'email' }
/** A number stands as it is dialled, also between words that run the other way. */
const DIRECTIONS = { number: 'ltr', money: 'ltr', phone: 'ltr', email: 'ltr', date: 'ltr', time: 'ltr' }

const NUDGES = {
  talk_ratio: 'You talk most of the time: let the customer speak.',
  monologue: 'You have talked for long: ask a question.',
  silence: 'It has been quiet for a while.',
  too_fast: 'Speak a little slower.',
  too_slow: 'Speak a little faster.',
}

/** What it is, and the words, which run in their own direction. */
const named = (name, words) => [`${name}: `, make('bdi', { textContent: words })]

/** What each kind says, head first. */
const HINT_WORDS = {
  objection: ({ label, response, answer, follow_up: next, passages = [] }) => ({
    head: label,
    lines: [answer ?? response, next],
    passages,
  }),
  card: ({ question, answer, text, sources = [] }) =>
    question === undefined
      ? { head: 'From the knowledge base', lines: [text] }
      : { head: question, lines: [answer ?? 'The knowledge base does not tell.'], passages: sources },
  nudge: ({ kind }) => ({ head: NUDGES[kind] ?? kind, lines: [] }),
  alert: ({ label, message }) => ({ head: label, lines: [message] }),
  compliance: ({ kind, phrase, instead, reason, message, phone }) =>
    kind === 'do_not_call'
      ? { head: 'Do not call again', lines: [message, phone] }
      : { head: `Do not say “${phrase}”`, lines: [instead && named('Instead', instead), reason] },
  summary: ({ text, next_steps: steps = [], fields, missing = [], not_done: open }, items) => ({
    head: 'The call is over',
    lines: [
      text,
      ...steps.map(step => named('Next', step)),
      ...fields.map(({ label, value }) => named(label, value)),
      ...missing.map(({ label }) => named('Not told', label)),
      ...open.map(({ stage, key }) => named('Not done', items.get(`${stage}/${key}`) ?? key)),
    ],
  }),
}

const STATUSES = { open: 'to be said', reminded: 'say it now', said: 'said', missed: 'missed' }

/** Whoever has put it away by the keyboard stands at the next one then. */
function putAway(article) {
  const hadFocus = article.contains(document.activeElement)
  const next = article.nextElementSibling ?? article.previousElementSibling
  article.remove()
  if (hadFocus) (next?.querySelector('button') ?? $('stage-name')).focus()
}

/** In the place of another, with the focus if that had it: what is read and clicked on around it does not move. */
function takePlace(before, article) {
  const hadFocus = before.contains(document.activeElement)
  before.replaceWith(article)
  if (hadFocus) article.querySelector('button')?.focus()
}

/** What the documents say on it, for who wants to read it. */
const sourceOf = passages =>
  passages.length === 0
    ? []
    : [
        make(
          'details',
          {},
          make('summary', { textContent: 'From the knowledge base' }),
          ...passages.map(({ text }) => make('p', { dir: 'auto', textContent: text })),
        ),
      ]

const choiceOf = options =>
  make('select', {}, ...['', ...options].map(option => make('option', { value: option, textContent: option || '–' })))

/** How many of a stage's items are done. */
function count(group) {
  const boxes = [...group.querySelectorAll('input')]
  group.querySelector('.count').textContent = `${boxes.filter(({ checked }) => checked).length} of ${boxes.length}`
}

/** As the profile is written. */
const directionOf = ({ stages, fields, disclosures }) =>
  [...stages, ...fields, ...disclosures].some(({ label }) => /[\u0590-\u08ff]/.test(label)) ? 'rtl' : 'ltr'

function make(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties)
  element.append(...children)
  return element
}

function tick(id, { done }) {
  const box = $(id)
  if (box === null) return () => {}
  const set = to => {
    box.checked = to
    count(box.closest('[data-stage]'))
  }
  set(done)
  return () => set(false)
}

/** What is being typed stays. */
function fill({ key, value }) {
  const input = $(`field-${key}`)
  if (input === null) return () => {}
  const set = to => {
    input.dataset.known = to
    if (input.dataset.typed === undefined) input.value = to
  }
  set(value)
  return () => set('')
}

/** Its words are there until they have been said. */
function disclosureLine({ key, label, text, status }) {
  const state = make('p', { dir: 'auto', textContent: `${label}: ${STATUSES[status]}` })
  const words = make('p', { dir: 'auto', className: 'words', textContent: text })
  const line = make('li', { id: `disclosure-${key}` }, state, ...(text === '' ? [] : [words]))
  Object.assign(line.dataset, { status, label })
  return line
}

function disclosed({ key, status }) {
  const set = now => {
    const line = $(`disclosure-${key}`)
    if (line === null) return
    line.dataset.status = now
    line.firstChild.textContent = `${line.dataset.label}: ${STATUSES[now]}`
  }
  set(status)
  return () => set('open')
}

const linkLine = ({ label, url }) =>
  make('li', {}, make('a', { href: url, textContent: label, target: '_blank', rel: 'noopener noreferrer' }))

const PARTIES = { agent: 'You', customer: 'Customer', other: 'Colleague' }
/** Lines of a call that are kept on the page. */
const MAX_LINES = 400

function sayLine({ utterance_id: utteranceId, text, party, final, aside }) {
  const id = `said-${utteranceId}`
  const name = aside ? `${PARTIES[party]} (on hold)` : PARTIES[party]
  const who = make('span', { className: 'who', textContent: `${name}: ` })
  const line = make('li', { id, className: final ? '' : 'interim' }, who, make('bdi', { textContent: text || '…' }))
  const before = $(id)
  if (before === null) $('said-lines').append(line)
  else before.replaceWith(line)
  if ($('said-lines').childElementCount > MAX_LINES) $('said-lines').firstChild.remove()
  return () => $(id)?.remove()
}

function showMood(mood) {
  $('mood').textContent =
    { negative: 'The customer sounds unhappy.', positive: 'The customer sounds pleased.' }[mood] ?? ''
  $('mood').dataset.mood = mood
}
