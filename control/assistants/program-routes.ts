import Type from 'typebox'
import { readTranscript } from '../calls/capture/transcripts.ts'
import { callProgramSchema, callStepSchema, toCallProgram, toCallStep } from '../calls/programs/step-schema.ts'
import { callTranscriptSchema } from '../calls/programs/transcript-schema.ts'
import { actionSchema, pathEntrySchema, scalarsSchema, turnSchema } from '../flows/step-schema.ts'
import { missing, problem } from '../http/errors.ts'
import { listOf, listQuery, page } from '../http/list.ts'
import { operations, type Route } from '../http/route.ts'
import { nullable } from '../kernel/schema.ts'
import type { Store } from '../kernel/store/store.ts'
import { forTenant } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import { flowPosition } from './flow-run.ts'

const api = operations('Calls', 'calls')

/** Maximum number of steps in an answer. Loop limits bound how many a call can have. */
const MAX_STEPS = 5000

const flowRunSchema = Type.Object({
  ...callProgramSchema.properties,
  ended: Type.Boolean(),
  current_node_key: nullable(Type.String()),
  path: Type.Array(pathEntrySchema),
  turns: Type.Array(turnSchema),
  actions: Type.Array(actionSchema),
  variables: scalarsSchema,
})

/** What flows and assistants have done in calls. */
export function callProgramRoutes({ store, vault }: { store: Store; vault: Vault }): Route[] {
  return [
    api.get({
      path: '/calls/:id/flow_run',
      id: 'getCallFlowRun',
      summary: 'Retrieve what a flow or an assistant did in a call',
      description:
        'Path, turns and actions, in the form of a simulation of the flow with the same inputs. 404 if neither a flow nor an assistant leads the call.',
      reply: flowRunSchema,
      handler: async (context, { params: { id } }) => {
        const scoped = forTenant(store.db, context)
        const row = await scoped.find('call_programs', id)
        if (row === undefined)
          return problem('resource_missing', `No flow or assistant leads this call: ${id}`, { param: 'id' })
        const steps = await scoped
          .select('call_steps')
          .select(['kind', 'entry'])
          .where('call_id', '=', id)
          .orderBy('id')
          .limit(MAX_STEPS)
          .execute()
        const of = (kind: string) => steps.filter(step => step.kind === kind).map(step => JSON.parse(step.entry))
        return {
          ...toCallProgram(row),
          ...(await flowPosition(store.db, vault, context, row)),
          ended: row.status === 'ended',
          path: of('node'),
          turns: of('turn'),
          actions: of('action'),
        }
      },
    }),
    operations('Recordings', 'recordings').get({
      path: '/calls/:id/transcript',
      id: 'getCallTranscript',
      summary: "Retrieve a call's transcript",
      description:
        "What each participant said, also while the call runs. 404 if the call is not transcribed. Request a transcript with `transcribe` in `POST /calls`, in the settings of the call's target, or by `POST …/transcript/start`.",
      reply: callTranscriptSchema,
      handler: async (context, { params: { id } }) =>
        (await readTranscript(store.db, context, id)) ??
        problem('resource_missing', `The call has no transcript: ${id}`, { param: 'id' }),
    }),
    api.get({
      path: '/calls/:id/turns',
      id: 'listCallTurns',
      summary: "List a call's turns",
      description:
        'What a flow or an assistant and its caller said, newest first, with the duration of each turn and the cost of the model.',
      query: listQuery,
      reply: listOf(callStepSchema),
      handler: async (context, { params: { id }, query }) => {
        const scoped = forTenant(store.db, context)
        if ((await scoped.find('calls', id)) === undefined) return missing('call', id)
        const turns = scoped.select('call_steps').selectAll().where('call_id', '=', id).where('kind', '=', 'turn')
        return page(turns, query, `/v1/calls/${id}/turns`, toCallStep)
      },
    }),
  ]
}
