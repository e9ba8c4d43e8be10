import { DateTime } from 'luxon'
import { assistantModels } from '../../control/assistants/assistant/assistant-models.ts'
import { passageFinder } from '../../control/assistants/assistant/passage-finder.ts'
import { DEFAULT_SETTINGS } from '../../control/assistants/schema.ts'
import { newId } from '../../control/kernel/ids.ts'
import { openStore, type Store } from '../../control/kernel/store/store.ts'
import type { Tenant } from '../../control/kernel/tenancy.ts'
import { addDocument } from '../../control/knowledge/add-document.ts'
import { passageSearch } from '../../control/knowledge/passage-search.ts'
import { passagesOf } from '../../control/knowledge/passages.ts'
import { Models } from '../../control/models/choice.ts'
import type { ChatMessage, ChatTool } from '../../control/models/model.ts'
import { addOrganisation } from '../../control/wiring/first-start.ts'
import { type Machine, thisCommit, thisMachine } from '../machine.ts'
import { type Answer, judge, type Verdict } from './judge.ts'
import { type KnowledgeBase, type Question, readQuestions } from './questions.ts'

/** How the assistant gets a question: as it was written, or as the offline recogniser heard it. */
type Way = 'said' | 'heard'

interface Tally {
  half: Question['half']
  way: Way
  right: number
  wrong: number
  honest: number
}

export interface AnswersReport {
  startedAt: string
  commit: string
  machine: Machine
  tallies: Tally[]
  /** Duration of the first answer, which includes lazy loading, and of the others [ms]. */
  firstMs: number
  othersMs: number[]
  /** Growth of the process after the first answer [bytes]. */
  memoryBytes: number
  /** The answers that are not right, of the half that developers may look at. */
  misses: { way: Way; said: string; verdict: Verdict; answer: string }[]
}

const TOOLS: ChatTool[] = [
  { name: 'end_call', description: 'Ends the call, after goodbye.', parameters: {} },
  { name: 'transfer_to_team', description: 'Gives the call to the team.', parameters: {} },
]

/** How the assistant without a model answers the 200 questions of `questions.txt`. */
export async function benchAnswers(halves: readonly Question['half'][]): Promise<AnswersReport> {
  const report: AnswersReport = {
    startedAt: new Date().toISOString(),
    commit: thisCommit(),
    machine: thisMachine(),
    tallies: [],
    firstMs: 0,
    othersMs: [],
    memoryBytes: 0,
    misses: [],
  }
  const questions = readQuestions()
  const desks = new Map<string, Desk>()
  for (const { kb } of questions) if (!desks.has(kb.name)) desks.set(kb.name, await Desk.open(kb))
  for (const half of halves) {
    for (const way of ['said', 'heard'] as const) {
      const tally: Tally = { half, way, right: 0, wrong: 0, honest: 0 }
      for (const question of questions.filter(one => one.half === half)) {
        const answer = await answerTo(desks.get(question.kb.name)!, question, way, report)
        const verdict = judge(question.right, answer)
        tally[verdict]++
        if (verdict === 'right' || half === 'unseen') continue
        report.misses.push({ way, said: question[way], verdict, answer: [answer.text, ...answer.calls].join(' ') })
      }
      report.tallies.push(tally)
    }
  }
  for (const desk of desks.values()) await desk.close()
  return report
}

async function answerTo(desk: Desk, question: Question, way: Way, report: AnswersReport): Promise<Answer> {
  const messages: ChatMessage[] = [{ role: 'assistant', text: 'Hello. How can I help you?' }]
  let previous = ''
  for (const said of question.earlier) {
    const { text } = await desk.ask([...messages, { role: 'customer', text: said }], question.localTime)
    messages.push({ role: 'customer', text: said }, { role: 'assistant', text })
    previous = text
  }
  const before = process.memoryUsage.rss()
  const begun = performance.now()
  const answer = await desk.ask([...messages, { role: 'customer', text: question[way] }], question.localTime)
  const tookMs = performance.now() - begun
  if (report.firstMs === 0) {
    report.firstMs = tookMs
    report.memoryBytes = process.memoryUsage.rss() - before
  } else report.othersMs.push(tookMs)
  return { ...answer, previous }
}

/** An assistant with a knowledge base, in its own database. */
class Desk {
  readonly #kb: KnowledgeBase
  readonly #store: Store
  readonly #tenant: Tenant

  private constructor(kb: KnowledgeBase, store: Store, tenant: Tenant) {
    this.#kb = kb
    this.#store = store
    this.#tenant = tenant
  }

  static async open(kb: KnowledgeBase): Promise<Desk> {
    const store = await openStore(':memory:')
    const search = passageSearch(store.engine)
    const { organisationId } = await store.transaction(trx =>
      addOrganisation(trx, { name: kb.name, pciEnabled: false, now: new Date() }),
    )
    const tenant = { organisationId, livemode: true }
    const passages = passagesOf(kb.text)
    const row = {
      id: newId('kb_document'),
      name: `${kb.name}.md`,
      status: 'ready' as const,
      error: null,
      metadata: '{}',
      created: new Date().toISOString(),
      size_bytes: kb.text.length,
      passage_count: passages.length,
    }
    await store.transaction(trx => addDocument(trx, tenant, search, { row, original: Buffer.from(kb.text), passages }))
    return new Desk(kb, store, tenant)
  }

  async ask(messages: ChatMessage[], localTime: string): Promise<{ text: string; calls: string[] }> {
    const question = messages.findLast(message => message.role === 'customer')
    const said = question?.role === 'customer' ? question.text : ''
    const known = await passageFinder(passageSearch(this.#store.engine))(this.#store.db, this.#tenant, [], said)
    const [model] = this.#models(localTime)
    const made = { text: '', calls: [] as string[] }
    for await (const part of model!.chat({ instructions: '', messages, tools: TOOLS, ...known }, never)) {
      if (part.kind === 'text') made.text += part.text
      if (part.kind === 'call') made.calls.push(part.name)
    }
    return made
  }

  #models(localTime: string) {
    const now = DateTime.fromISO(localTime, { zone: this.#kb.timezone }).toJSDate()
    const parts = {
      models: new Models(null),
      db: this.#store.db,
      now: () => now,
      timezoneOf: async () => this.#kb.timezone,
    }
    return assistantModels(parts)(this.#tenant, {
      language: 'en',
      model: DEFAULT_SETTINGS.model,
    })
  }

  async close(): Promise<void> {
    await this.#store.close()
  }
}

const never = new AbortController().signal
