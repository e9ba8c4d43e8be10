import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

/** Of a thread that computes speech: any thread that has a frame to send goes first. */
const NICE = 5

/** Puts the thread that calls it behind those of the audio, where the system can: Linux takes a thread's number for a process's. */
export function workInBackground(): void {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    if (thread > 0) setPriority(thread, NICE)
  } catch {
    // Another system: its scheduler does what it does.
  }
}
