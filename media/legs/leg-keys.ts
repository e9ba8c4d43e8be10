import { FRAME_MS, type Frame, NARROWBAND_HZ, samplesPerFrame } from '../../codecs/audio.ts'
import type { DtmfKey } from '../../codecs/tones.ts'
import { DtmfEventReader, type DtmfPacket, EVENT_TIMEOUT_MS } from '../rtp/dtmf-events.ts'
import { KeySender } from '../rtp/key-sender.ts'
import type { RtpPacket } from '../rtp/rtp.ts'
import { SenderClock } from '../rtp/sender-clock.ts'

/** A sender that has restarted does not write the timestamp of its last event again within this time [ms]. */
const SAME_EVENT_MS = 1000

/** Keys in a leg's packets: received telephone events, and keys sent as events or tones. */
export class LegKeys {
  /** A key of the party is down. */
  isDown = false
  /** A key of ours is being sent, or waits to be. */
  isSending = false
  #reader = new DtmfEventReader()
  /** Created with the first key, since few legs are sent any. */
  #sender: KeySender | null = null
  #frameUnits = samplesPerFrame(NARROWBAND_HZ)
  readonly #clock = new SenderClock()
  #beganAt = 0
  /** The timestamp of the last event, as its sender wrote it and as it is counted, and when its last packet came [ms]. */
  readonly #event = { written: -1, counted: 0, at: 0 }

  /** Keys use the clock of their audio (RFC 4733 §2.1). @returns the end of a key that was being sent by the clock before, or null */
  clockAt(clockRateHz: number): DtmfPacket | null {
    const frameUnits = (clockRateHz * FRAME_MS) / 1000
    if (frameUnits === this.#frameUnits) return null
    this.#reader = new DtmfEventReader(clockRateHz)
    this.#frameUnits = frameUnits
    const end = this.#sender?.useClock(frameUnits) ?? null
    this.isSending = this.#sender?.busy === true
    return end
  }

  /** No more events are agreed for sending. */
  useTones(): void {
    this.#sender?.useTones()
  }

  /** A packet of audio arrived as fast as any. @param timestamp in units of 8 kHz */
  observe(timestamp: number, now: number): void {
    this.#clock.observe(timestamp, now)
  }

  /** Another party is sending. */
  reset(): void {
    this.#reader.reset()
    this.#clock.reset()
    this.#event.written = -1
  }

  /** An event arrived. @param written its timestamp, as its sender wrote it @returns the key that begins with it */
  read(packet: RtpPacket, written: number, bytes: Uint8Array, now: number): DtmfKey | null {
    const { payloadOffset, payloadLength, marker } = packet
    const timestamp = this.#counted(packet.timestamp, written, now)
    const { began } = this.#reader.read(timestamp, bytes, payloadOffset, payloadLength, marker, now)
    if (began !== null) this.#beganAt = now
    this.isDown = this.#reader.active !== null
    return began
  }

  /** Packets that overtake each other look like a sender that restarts its timestamps: its key is the same one. */
  #counted(timestamp: number, written: number, now: number): number {
    const event = this.#event
    const isSame = written === event.written && now - event.at < SAME_EVENT_MS
    if (!isSame) event.counted = timestamp
    event.written = written
    event.at = now
    return event.counted
  }

  /** When the packet with this timestamp was sent, on our clock. @param timestamp in units of 8 kHz */
  sentAt(timestamp: number, now: number): number {
    return this.#clock.timeOf(timestamp, now)
  }

  /** The earliest time at which it can have been sent. */
  sentNoEarlier(timestamp: number, now: number): number {
    return this.#clock.earliestOf(timestamp, now)
  }

  /** RTCP has measured a round trip. */
  travels(roundTripMs: number): void {
    this.#clock.travels(roundTripMs)
  }

  /** The minimum remaining duration of the key that is down, by its own statement. */
  downUntil(now: number): number {
    return Math.max(now, this.#beganAt + this.#reader.durationMs) + EVENT_TIMEOUT_MS
  }

  /** While a key is down. */
  advance(now: number): void {
    this.#reader.advance(now)
    this.isDown = this.#reader.active !== null
  }

  /** @returns false if it is not a key, or too many wait */
  enqueue(key: string, as: 'event' | 'tone', durationMs?: number): boolean {
    this.#sender ??= new KeySender(this.#frameUnits)
    const isTaken = this.#sender.enqueue(key, as, durationMs)
    this.isSending ||= isTaken
    return isTaken
  }

  /** The frame that replaces the audio in this tick, or null: then ask for an `event`. */
  tone(): Frame | null {
    const sender = this.#sender
    const tone = sender?.tone() ?? null
    if (tone !== null) this.isSending = sender!.busy
    return tone
  }

  /** The packet of this tick; null: normal audio. */
  event(timestamp: number): DtmfPacket | null {
    const sender = this.#sender
    const event = sender?.event(timestamp) ?? null
    this.isSending = sender?.busy === true
    return event
  }
}
