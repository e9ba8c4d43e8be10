import type { EngineHandlers } from './engine-protocol.ts'
import type { Members } from './member.ts'

/** Commands to the dialogues of an engine thread. */
export const dialogueCommands = (members: Members) =>
  ({
    'leg.play': async request =>
      await members.with(request.legId, ({ dialogue, room }) => {
        const begun = dialogue.play(request)
        if (room !== null && room.legs.length > 1) dialogue.accompany()
        return begun
      }),
    'leg.stop_play': ({ legId }) => members.with(legId, ({ dialogue }) => dialogue.stopPlay()),
    'leg.collect': async request => await members.with(request.legId, ({ dialogue }) => dialogue.collect(request)),
    'leg.listen': ({ legId, listen }) => members.with(legId, ({ dialogue }) => dialogue.listen(listen)),
    'leg.stop_listen': ({ legId }) => members.with(legId, ({ dialogue }) => dialogue.stopListening()),
  }) satisfies Partial<EngineHandlers>
