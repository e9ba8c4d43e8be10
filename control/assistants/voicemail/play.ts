import type { PlaySource } from '../../../media/protocol.ts'
import type { MessageTarget } from '../../calls/programs/records.ts'
import { phrase } from '../../kernel/phrases.ts'
import { flushedOf } from '../collect.ts'
import type { Ending, Play } from '../programs.ts'
import { recordedNotice, takeMessage } from './message.ts'

interface Progress extends MessageTarget {
  greeted?: boolean
  voicemailId?: string
}

/** Runs voicemail, for a call that nobody answers: takes a message, thanks the caller and hangs up. */
export const voicemailPlay: Play = async (stage): Promise<Ending> => {
  const progress = stage.state<Progress>()
  if (progress === null) throw new Error('a voicemail has no mailbox')
  const { greeting, language, mailbox } = progress
  const speaker = { voice: null, language }
  const words: PlaySource =
    greeting === '' ? phrase('leaveMessage', speaker) : { kind: 'speech', text: greeting, ...speaker }
  if (progress.voicemailId === undefined) {
    const isNew = progress.greeted !== true
    progress.greeted = true
    if (isNew) await stage.commit({ state: progress })
    await flushedOf(stage, 'greeting', [words, ...(await recordedNotice(stage, speaker))], !isNew)
  }
  await takeMessage(stage, mailbox, progress.voicemailId ?? null, async (memo, commit) => {
    progress.voicemailId = memo as string
    await stage.commit({ ...commit, state: progress })
  })
  await stage.commit({ change: { end_reason: 'voicemail' } })
  const { legId } = stage
  const bye = phrase('goodbye', speaker)
  const play = { legId, playId: 'bye', sources: [bye], loop: false, hangupAfter: 'assistant_ended' as const }
  if ('failure' in (await stage.request('leg.play', play))) {
    await stage.request('leg.hangup', { legId, reason: 'assistant_ended' })
  }
  return { way: 'hangup' }
}
