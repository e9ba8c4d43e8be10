import type { StreamTracks } from '../../media/protocol.ts'
import { conflict, invalid, type Problem } from '../http/errors.ts'
import { customerAddresses, type Resolve, urlProblem } from '../http/url-policy.ts'
import type { StreamInput } from './stream-input.ts'

export const MAX_TRACKS = 4

interface AddressDeps {
  allowedNetworks: string[]
  resolve: Resolve
}

/** Why a call, or the settings of what handles calls, cannot have these streams. */
export type StreamsProblem = (
  streams: readonly StreamInput[] | null | undefined,
  of?: 'settings' | 'call',
) => Promise<Problem | null>

export const streamsProblem =
  (deps: AddressDeps): StreamsProblem =>
  async (streams, of = 'settings') => {
    for (const [index, stream] of (streams ?? []).entries()) {
      const refused = await streamUrlProblem(deps, stream, `streams[${index}].url`)
      if (refused !== null) return refused
    }
    if (tracksOf(streams ?? []) <= MAX_TRACKS) return null
    return of === 'call' ? tooManyTracks() : invalid('streams', TOO_MANY)
  }

/** 400 for an address that customers may not send audio to. */
export const streamUrlProblem = (deps: AddressDeps, body: StreamInput, param = 'url'): Promise<Problem | null> =>
  urlProblem(body.url, ['ws:', 'wss:'], customerAddresses(deps.allowedNetworks), deps.resolve, param)

export const tracksOf = (streams: readonly { tracks?: StreamTracks }[]): number =>
  streams.reduce((sum, { tracks }) => sum + (tracks === 'both' ? 2 : 1), 0)

const TOO_MANY = `A call has at most ${MAX_TRACKS} stream tracks; \`both\` counts two.`
export const tooManyTracks = (): Problem => conflict('too_many_tracks', TOO_MANY)
