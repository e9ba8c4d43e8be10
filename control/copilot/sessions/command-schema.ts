import Type from 'typebox'
import { input, nullable, oneOf } from '../../kernel/schema.ts'

const id = Type.String({ minLength: 1, maxLength: 200 })
const key = Type.String({ minLength: 1, maxLength: 64 })

export const startBody = input({
  profile_id: Type.String({ minLength: 1, maxLength: 200, description: '`cop_…`' }),
  participant_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: "The agent's. Default: who has answered the call." }),
  ),
})
export const itemBody = input({
  done: Type.Boolean(),
  stage: Type.Optional({
    ...key,
    description: 'Where several stages have an item of this key. Default: the present one.',
  }),
})
export const fieldBody = input({
  value: nullable(
    Type.String({
      minLength: 1,
      maxLength: 2000,
      description: 'null: what was heard is wrong; what is heard now counts.',
    }),
  ),
})
export const nextBody = input({
  back: Type.Optional(Type.Boolean({ description: 'To the step before.' })),
  choice: Type.Optional({ ...key, description: "One of the step's `choices`. Default: the way for everybody." }),
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
      utterance_id: Type.Optional({ ...key, description: 'Of an interim one and its final one the same.' }),
      start_ms: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 86_400_000, description: 'Since the session began.' }),
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
  answer: nullable(Type.String({ description: 'null: the knowledge base does not tell.' })),
  path: Type.String({ description: 'fast, deep' }),
  sources: Type.Array(
    Type.Object({
      document_id: Type.String(),
      passage_id: Type.String(),
      text: Type.String(),
      score: Type.Number(),
    }),
  ),
})
