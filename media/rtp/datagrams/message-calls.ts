import { type Libc, MSG_DONTWAIT, MSG_NOSIGNAL } from './libc.ts'

/** Result of a call that was not carried out. */
export const NOT_DONE = -1

/**
 * Carries out `recvmsg` or `sendmsg` for several sockets. Each place is a message in shared memory, used once at most per `run`. None of them
 * waits.
 */
export interface MessageCalls {
  /** By place, after `run`: length of the datagram, or negative. */
  readonly results: Int32Array
  /** Adds the message of `place`, received or sent by the socket `fd` with the next `run`. */
  add(fd: number, place: number): void
  run(): void
}

/** Opens the calls for `places` messages, given the address of each `struct msghdr`. */
export type OpenCalls = (kind: 'receive' | 'send', headerAddresses: readonly number[]) => MessageCalls

/** A system call for each message. */
export class SingleCalls implements MessageCalls {
  readonly results: Int32Array
  readonly #call: Libc['recvmsg']
  readonly #flags: number
  readonly #headerAddresses: readonly number[]
  readonly #fds: Int32Array
  readonly #places: Int32Array
  #count = 0

  constructor(libc: Libc, kind: 'receive' | 'send', headerAddresses: readonly number[]) {
    this.#call = kind === 'receive' ? libc.recvmsg : libc.sendmsg
    this.#flags = kind === 'receive' ? MSG_DONTWAIT : MSG_DONTWAIT | MSG_NOSIGNAL
    this.#headerAddresses = headerAddresses
    this.results = new Int32Array(headerAddresses.length)
    this.#fds = new Int32Array(headerAddresses.length)
    this.#places = new Int32Array(headerAddresses.length)
  }

  add(fd: number, place: number): void {
    this.#fds[this.#count] = fd
    this.#places[this.#count++] = place
  }

  run(): void {
    for (let number = 0; number < this.#count; number++) {
      const place = this.#places[number]!
      this.results[place] = this.#call(this.#fds[number]!, this.#headerAddresses[place]!, this.#flags)
    }
    this.#count = 0
  }
}
