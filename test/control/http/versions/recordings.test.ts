import * as assert from 'uvu/assert'
import { callRecordingSchema } from '../../../../control/calls/capture/recording-schema.ts'
import { callTranscriptSchema } from '../../../../control/calls/programs/transcript-schema.ts'
import { olderOperation, renderEvent } from '../../../../control/http/versions/translate.ts'
import { API_VERSIONS } from '../../../../control/kernel/versions/all.ts'
import '../../../../control/wiring/event-catalog.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/http/versions/recordings')
const OLD = '2026-05-01'

const recording = {
  object: 'call_recording',
  call_id: 'call_1',
  channels: [
    { kind: 'participant', participant_id: 'part_1' },
    { kind: 'participant', participant_id: 'part_2' },
    { kind: 'product', participant_id: null },
  ],
  segments: [{ from_ms: 0, to_ms: 20, reason: 'paused' }],
}

test("2026-05-01 sees a recording's participants and nothing of the product's channel", () => {
  const { down } = olderOperation({ id: 'getRecording', reply: callRecordingSchema }, OLD, API_VERSIONS)!
  const seen = down(recording) as typeof recording
  assert.equal(seen.channels as object[], [{ participant_id: 'part_1' }, { participant_id: 'part_2' }])
  assert.equal(seen.segments, recording.segments, 'the pauses of a recording are no lines of a transcript')
  assert.is(recording.channels.length, 3, 'what was given is as it was')
})

test('2026-05-01 gets the same in the event that tells of the file, and the version of today all of it', () => {
  const event = {
    object: 'event',
    type: 'call.recording.ready',
    api_version: '2026-11-01',
    data: { object: recording },
  }
  const old = renderEvent(event, OLD) as typeof event
  assert.equal(old.data.object.channels as object[], [{ participant_id: 'part_1' }, { participant_id: 'part_2' }])
  assert.equal((renderEvent(event, '2026-11-01') as typeof event).data.object.channels, recording.channels)
})

test("2026-05-01 sees in a transcript what the participants said, not the product's words", () => {
  const line = (speaker: string, text: string) => ({ speaker, participant_id: 'part_1', text, start_ms: 0, end_ms: 1 })
  const transcript = { object: 'call_transcript', segments: [line('product', 'Hello.'), line('participant', 'Hi.')] }
  const { down } = olderOperation({ id: 'getCallTranscript', reply: callTranscriptSchema }, OLD, API_VERSIONS)!
  const { speaker: _, ...heard } = line('participant', 'Hi.')
  assert.equal((down(transcript) as typeof transcript).segments as object[], [heard])
})

test.run()
