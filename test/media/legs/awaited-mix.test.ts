import * as assert from 'uvu/assert'
import { AwaitedMix } from '../../../media/legs/awaited-mix.ts'
import { RtpSender } from '../../../media/rtp/rtp.ts'
import { suite } from '../../harness.ts'
import { toneFrame } from '../engine/party.ts'

const test = suite('media/legs/awaited-mix')

const FRAME_MS = 20
const UNITS = 160
const FRAME = toneFrame(440, 0)

/** The mix after a relay whose last packet would have been mixed until 0 ms, and what it makes of the stream. */
class Return {
  readonly speaker: { said: Int16Array | null } = { said: null }
  readonly #sender = new RtpSender({ ssrc: 1, sequence: 1, timestamp: 0, maxPayload: UNITS })
  readonly #mix = new AwaitedMix(this.#sender, this.speaker, 0)

  constructor() {
    // A relayed packet, so that none after it is the first one of the stream.
    this.#sender.write(0, UNITS)
  }

  at(frames: number, frame: Int16Array | null, isKey = false): boolean {
    return this.#mix.isHere(frame, isKey, frames * FRAME_MS)
  }

  /** Number of frames that the timestamps skip, and whether the next packet has the marker bit, as the first one after silence. */
  get leftOut(): [frames: number, isMarked: boolean] {
    const { timestamp } = this.#sender
    return [timestamp / UNITS, (this.#sender.write(0, UNITS)[1]! & 0x80) !== 0]
  }
}

test('whose packets were relayed is waited for, and goes on where the relay ended', () => {
  const back = new Return()
  assert.not.ok(back.at(1, null))
  assert.not.ok(back.at(2, null))
  back.speaker.said = FRAME
  assert.ok(back.at(3, FRAME))
  assert.equal(back.leftOut, [0, false])
})

test('others are not heard sooner than it, for three frames; a key is', () => {
  const back = new Return()
  assert.equal(
    [1, 2, 3].map(tick => back.at(tick, FRAME)),
    [false, false, true],
  )
  assert.ok(new Return().at(1, FRAME, true))
})

test('whoever is silent all the time is left out of the timestamps, as is a silence before the end of the relay', () => {
  const silent = new Return()
  for (const tick of [1, 2, 3]) silent.at(tick, null)
  assert.equal(silent.leftOut, [3, true])
  const late = new Return()
  late.speaker.said = FRAME
  assert.ok(late.at(5, FRAME))
  assert.equal(late.leftOut, [5, true])
})

test.run()
