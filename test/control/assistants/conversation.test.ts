import pino from 'pino'
import * as assert from 'uvu/assert'
import { Conversation, type Listener } from '../../../control/assistants/conversation/conversation.ts'
import { type StoredTurn, Turn } from '../../../control/assistants/conversation/turn.ts'
import type { ProgramInput } from '../../../control/assistants/input.ts'
import type { Stage } from '../../../control/assistants/stage.ts'
import { suite } from '../../harness.ts'

const test = suite('control/assistants/conversation')

const played = (playId: string): ProgramInput => ({ kind: 'played', playId, ended: 'played', heardMs: 900 })

const said: ProgramInput = {
  kind: 'utterance',
  utterance: { text: 'Number 42', resumed: false },
} as ProgramInput

/** A stage on which these events happen, and then none. `held`: state that its commits keep. */
function stageOf(happens: (ProgramInput | null)[], held = new Set<ProgramInput>(), pauses: boolean[] = []): Stage {
  const stage: Partial<Stage> = {
    hold: input => void held.add(input),
    release: input => void held.delete(input),
    call: { id: 'call_1' } as Stage['call'],
    legId: 'part_1',
    resumed: null,
    signal: new AbortController().signal,
    now: () => new Date(),
    nudge: () => {},
    isPaused: async () => pauses.shift() === true,
    next: async () => {
      const input = happens.shift()
      return input === undefined ? new Promise<never>(() => {}) : input
    },
    poll: async wanted => {
      const input = happens[0]
      const found = input == null ? null : wanted(input)
      if (found !== null) happens.shift()
      return found
    },
    request: (async () => ({})) as unknown as Stage['request'],
  }
  return stage as Stage
}

function conversationOn(
  stage: Stage,
  save: (turn: StoredTurn) => void,
  isInterruptible = true,
): Conversation<ProgramInput> {
  const listener: Listener<ProgramInput> = {
    isInterruptible,
    isCollecting: true,
    isListening: true,
    answerIn: input => (input.kind === 'utterance' ? input : undefined),
    save: async turn => save(turn),
  }
  const voice = { language: 'en', voice: null }
  return new Conversation<ProgramInput>({ stage, log: pino({ enabled: false }), voice }, listener)
}

test('a sentence that was heard before the next one was sent stays heard when the process is killed between them', async () => {
  let row = ''
  const happens: ProgramInput[] = []
  const conversation = conversationOn(stageOf(happens), turn => {
    row = JSON.stringify(turn)
  })
  const turn = conversation.begin(new Turn(1, 'ai', null))
  await conversation.say(turn, 'I see.')
  happens.push(played('turn-1-0'))
  // What media has told is taken here, and forgotten in the commit that stores the next sentence.
  void conversation.next()
  await new Promise(setImmediate)
  await conversation.say(turn, 'Which invoice?')

  const after = conversationOn(stageOf([played('turn-1-1')]), () => {})
  const restored = await after.restore(JSON.parse(row) as StoredTurn)
  assert.is(restored?.heardText, 'I see. Which invoice?')
  assert.is(restored?.heardMs, 1800)
})

test('whatever is committed while a turn is being said tells how far it was heard by then', async () => {
  const happens: ProgramInput[] = []
  let saved: StoredTurn | null = null
  const conversation = conversationOn(stageOf(happens), turn => {
    saved = turn
  })
  const turn = conversation.begin(new Turn(1, 'ai', null))
  await conversation.say(turn, 'I see.')
  happens.push(played('turn-1-0'))
  void conversation.next()
  await new Promise(setImmediate)
  assert.is(Turn.restored(JSON.parse(JSON.stringify(saved)) as StoredTurn).heardText, 'I see.')
})

test('a caller who pays by card is not asked whether they are still there: patience begins anew until the payment is over', async () => {
  const happens = [null, null, null, said, null]
  const conversation = conversationOn(stageOf(happens, new Set(), [true, true, false]), () => {})
  assert.is((await conversation.next(9000)).kind, 'silence')
  assert.is(happens.length, 2, 'the third time that nothing is said, the payment is over')
  assert.is((await conversation.next(9000)).kind, 'answered')
  assert.is((await conversation.next(9000)).kind, 'silence')
})

test('an answer that waits until we have spoken stays stored until it is taken', async () => {
  const held = new Set<ProgramInput>()
  const conversation = conversationOn(stageOf([said, played('turn-1-0')], held), () => {}, false)
  const turn = conversation.begin(new Turn(1, 'ai', null))
  await conversation.say(turn, 'I see.')
  turn.isMade = true
  assert.is((await conversation.next()).kind, 'spoken')
  assert.equal([...held], [said], 'what is committed now does not forget it')
  assert.equal(await conversation.next(), { kind: 'answered', answer: said, over: null })
  assert.equal([...held], [], 'the next commit stores what is made of it')
})

test.run()
