import type { Product } from '../product.ts'
import { RestClient } from '../rest-client.ts'

/** Starts a copilot for a call of the sandbox, which gets text by the API with the test key: everything except speech recognition. */
export async function copilotInSandbox(product: Product, profile: object): Promise<{ rest: RestClient; id: string }> {
  const rest = new RestClient(product.baseUrl, product.testKey)
  // A customer who said "stop calling me" in an earlier call is on this list.
  for (const { id } of await rest.all('/do_not_call')) await rest.ok('DELETE', `/do_not_call/${id}`)
  const { id: callId } = await rest.ok('POST', '/calls', { to: '+15005550006' })
  await product.until('the sandbox answers', async () =>
    (await rest.ok('GET', `/calls/${callId}`)).status === 'in_progress' ? true : null,
  )
  const { id: profile_id } = await rest.ok('POST', '/copilot_profiles', profile)
  const { id } = await rest.ok('POST', `/calls/${callId}/copilot`, { profile_id })
  return { rest, id }
}
