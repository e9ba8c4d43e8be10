import Type from 'typebox'
import { input, nullable, oneOf } from '../../kernel/schema.ts'

const id = Type.String({ minLength: 1, maxLength: 200 })
const key = Type.String({ minLength: 1, maxLength: 64 })

export const startBody = input({
  profile_id: Type.String({ minLength: 1, maxLength: 200, description: '`cop_…`' }),
  participant_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'The participant that is the agent. Default: the one who answered the call.',
    }),
  ),
})
export const itemBody = input({
  done: Type.Boolean(),
  stage: Type.Optional({
    ...key,
    description: 'Needed if several stages have an item with this key. Default: the current stage.',
  }),
})
export const fieldBody = input({
  value: nullable(
    Type.String({
      minLength: 1,
      maxLength: 2000,
      description: 'null: discard what was heard; new values are still picked up.',
    }),
  ),
})
export const nextBody = input({
  back: Type.Optional(Type.Boolean({ description: 'Go to the previous step.' })),
  choice: Type.Optional({
    ...key,
    description: "One of the step's `choices`. Default: the transition without a condition.",
  }),
  stage: Type.Optional({ ...key, description: 'Without a script: the stage to go to. Default: the next one.' }),
})
export const dismissBody = input({ message_id: { ...id, description: '`copm_…`' } })
export const assignBody = input({ user_id: { ...id, description: 'A member, `usr_…`' } })
export const askBody = input({ question: Type.String({ minLength: 1, maxLength: 1000 }) })
export const utterancesBody = input({
  utterances: Type.Array(
    input({
      party: oneOf(['agent', 'customer']),
      text: Type.String({ maxLength: 5000 }),
      final: Type.Optional(Type.Boolean({ default: true })),
      utterance_id: Type.Optional({ ...key, description: 'The same for an interim utterance and its final one.' }),
      start_ms: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 86_400_000, description: 'Time since the session began.' }),
      ),
      end_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400_000, description: 'Default: now.' })),
    }),
    { minItems: 1, maxItems: 100, description: 'In the order in which they are said.' },
  ),
})

export const answerSchema = Type.Object({
  object: Type.Literal('copilot_answer'),
  livemode: Type.Boolean(),
  session_id: Type.String(),
  question: Type.String(),
  answer: nullable(Type.String({ description: 'null: the knowledge base has no answer.' })),
  path: Type.String({ description: 'fast, deep' }),
  sources: Type.Array(
    Type.Object({ document_id: Type.String(), passage_id: Type.String(), text: Type.String(), score: Type.Number() }),
  ),
})
