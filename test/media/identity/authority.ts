import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A list of one TNEntry, the provider's code (spc [0] IA5String). */
export const PROVIDER_709J = '30:08:a0:06:16:04:37:30:39:4a'

/** A provider's certificate with its key. */
export interface Credential {
  keyFile: string
  key: Buffer
  /** PEM of the certificate and of the chain to the authority. */
  chain: string
}

/** A certificate authority with an intermediate, which issues certificates for providers, made by OpenSSL in a directory. */
export class Authority {
  readonly directory = mkdtempSync(join(tmpdir(), 'authority-'))
  readonly anchorsFile = join(this.directory, 'root.pem')
  #count = 0

  constructor() {
    this.#make('root', 'CA:TRUE', null)
    this.#make('intermediate', 'CA:TRUE', 'root')
  }

  /** @param tnAuthList DER of the extension in hex, `30:…`; by default that of a provider; null: none */
  provider(tnAuthList: string | null = PROVIDER_709J): Credential {
    const name = `provider${++this.#count}`
    const more = tnAuthList === null ? [] : [`1.3.6.1.5.5.7.1.26=DER:${tnAuthList}`]
    this.#make(name, 'CA:FALSE', 'intermediate', more)
    const chain = `${this.#text(`${name}.pem`)}${this.#text('intermediate.pem')}`
    return {
      keyFile: join(this.directory, `${name}.key`),
      key: readFileSync(join(this.directory, `${name}.key`)),
      chain,
    }
  }

  #text(file: string): string {
    return readFileSync(join(this.directory, file), 'utf8')
  }

  #make(name: string, constraint: string, issuer: string | null, extensions: string[] = []): void {
    const run = (...args: string[]) => execFileSync('openssl', args, { cwd: this.directory, stdio: 'pipe' })
    run('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', `${name}.key`)
    run('req', '-new', '-key', `${name}.key`, '-subj', `/CN=SHAKEN ${name}`, '-out', `${name}.csr`)
    writeFileSync(
      join(this.directory, `${name}.ext`),
      [`basicConstraints=critical,${constraint}`, ...extensions].join('\n'),
    )
    const signed =
      issuer === null
        ? ['-signkey', `${name}.key`]
        : ['-CA', `${issuer}.pem`, '-CAkey', `${issuer}.key`, '-set_serial', String(Date.now())]
    const made = ['-req', '-in', `${name}.csr`, ...signed, '-days', '1', '-extfile', `${name}.ext`]
    run('x509', ...made, '-out', `${name}.pem`)
  }

  close(): void {
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** A server of certificates: paths and their contents; for `null` it never answers. */
export class CertificateServer {
  readonly files = new Map<string, string | null>()
  /** Requested paths. */
  readonly asked: string[] = []
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => {
      this.asked.push(request.url ?? '')
      const file = this.files.get(request.url ?? '')
      if (file === null) return
      response.writeHead(file === undefined ? 404 : 200)
      response.end(file)
    })
  }

  static async listen(): Promise<CertificateServer> {
    const server = new CertificateServer()
    await new Promise<void>(resolve => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  /** Serves a file. @returns its URL */
  serve(path: string, file: string | null): string {
    this.files.set(path, file)
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}
