/** The only source of HTTP errors. A failure is a value: a handler returns `problem(code, message)`. */

type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'idempotency_error'
  | 'rate_limit_error'
  | 'api_error'

interface CatalogueEntry {
  status: number
  type: ErrorType
  /** For `/docs/errors`: what it means and what to do. */
  help: string
}

const entry = (status: number, type: ErrorType, help: string): CatalogueEntry => ({ status, type, help })

export const ERRORS = {
  parameter_missing: entry(400, 'invalid_request_error', 'A required parameter was not sent; `param` names it.'),
  parameter_invalid: entry(400, 'invalid_request_error', 'A parameter has a wrong type or value; `param` names it.'),
  parameter_unknown: entry(400, 'invalid_request_error', 'The operation has no such parameter; `param` names it.'),
  unknown_version: entry(400, 'invalid_request_error', '`Service-Version` names a version that does not exist.'),
  invalid_json: entry(400, 'invalid_request_error', 'The body is not JSON, or not sent as `application/json`.'),
  request_malformed: entry(
    400,
    'invalid_request_error',
    'The request is not HTTP; what is not ASCII in a URL, for example, is percent-encoded.',
  ),
  unsupported_audio_format: entry(
    400,
    'invalid_request_error',
    'Send a WAV file: mono or stereo, 8 to 48 kHz, PCM of 8, 16, 24 or 32 bits, float, or G.711. MP3 is not accepted.',
  ),
  audio_too_large: entry(400, 'invalid_request_error', 'The recording is larger than 20 MB.'),
  audio_too_long: entry(400, 'invalid_request_error', 'The recording is longer than 10 minutes.'),
  import_too_large: entry(400, 'invalid_request_error', 'The file to import has more than 256 MB; as base64, 8 MB.'),
  graph_malformed: entry(400, 'invalid_request_error', 'The flow graph is malformed; `param` names the place.'),
  api_key_missing: entry(401, 'authentication_error', 'Send `Authorization: Bearer <key>`.'),
  api_key_invalid: entry(401, 'authentication_error', 'No such key: it is mistyped or was revoked.'),
  api_key_expired: entry(401, 'authentication_error', 'The key has passed its `expires_at`; create a new one.'),
  client_token_invalid: entry(
    401,
    'authentication_error',
    'The client token is forged or expired, or is for another use.',
  ),
  client_token_used: entry(401, 'authentication_error', 'A client token works once; create a new one.'),
  scope_missing: entry(403, 'permission_error', 'The key lacks the scope that the operation requires.'),
  live_key_required: entry(403, 'permission_error', 'The operation requires a live key.'),
  test_key_required: entry(403, 'permission_error', 'The operation requires a test key.'),
  pci_not_enabled: entry(
    403,
    'permission_error',
    'Switch on card-payment mode first: `PATCH /organisation` with `pci.enabled`.',
  ),
  origin_mismatch: entry(403, 'permission_error', 'The client token is bound to another website.'),
  account_invalid: entry(
    403,
    'permission_error',
    "`Service-Account` names no organisation that the key's organisation runs in this mode.",
  ),
  organisation_suspended: entry(
    403,
    'permission_error',
    'The organisation is suspended by the partner that manages it. Requests and new calls are refused until it is resumed.',
  ),
  plan_limit: entry(403, 'permission_error', 'The organisation has reached a limit of its plan.'),
  object_limit: entry(
    403,
    'permission_error',
    'The organisation has as many of these objects as it may have in this mode (`TANDEM_MAX_OBJECTS`); delete one that is not used, or ask the operator for more.',
  ),
  do_not_call: entry(
    403,
    'permission_error',
    'The number is on the do-not-call list: it is neither called nor called back.',
  ),
  consent_missing: entry(
    403,
    'permission_error',
    'The organisation requires a consent (`require_consent`), and the number has no valid one; `details.purpose` names the purpose.',
  ),
  resource_missing: entry(404, 'invalid_request_error', 'No such object in this organisation and mode.'),
  method_not_allowed: entry(405, 'invalid_request_error', 'The path has other methods; the `Allow` header lists them.'),
  request_timeout: entry(
    408,
    'invalid_request_error',
    'The request was not complete in time: its header within 20 seconds, all of it within 45.',
  ),
  resource_conflict: entry(
    409,
    'invalid_request_error',
    "The object's state does not allow it; `details.reason` says why.",
  ),
  idempotency_key_reused: entry(
    409,
    'idempotency_error',
    'This `Idempotency-Key` was used with other parameters; use a new key.',
  ),
  idempotency_key_in_use: entry(
    409,
    'idempotency_error',
    'The first request with this `Idempotency-Key` is still running; try again shortly.',
  ),
  range_not_satisfiable: entry(416, 'invalid_request_error', 'The `Range` is outside the file.'),
  headers_too_large: entry(431, 'invalid_request_error', 'The header of the request is longer than 16 KB.'),
  rate_limited: entry(
    429,
    'rate_limit_error',
    'Too many requests by this key or its organisation; wait for `Retry-After` seconds.',
  ),
  capacity_exhausted: entry(429, 'rate_limit_error', 'No call capacity right now; wait for `Retry-After` seconds.'),
  import_limit: entry(429, 'rate_limit_error', 'Ten imports are running; wait for one to finish, or cancel one.'),
  stream_limit: entry(429, 'rate_limit_error', 'Too many streams at once; wait for `Retry-After` seconds.'),
  internal_error: entry(500, 'api_error', 'A failure on our side; retry with the same `Idempotency-Key`.'),
  media_unavailable: entry(
    503,
    'api_error',
    'The media engine is being restarted; retry with the same `Idempotency-Key` after `Retry-After` seconds.',
  ),
  store_unavailable: entry(
    503,
    'api_error',
    'The database cannot be reached or written, so it is not known whether anything was done. Retry with the same `Idempotency-Key` after `Retry-After` seconds. Running calls can still be hung up.',
  ),
} as const satisfies Record<string, CatalogueEntry>

export type ErrorCode = keyof typeof ERRORS

/** An expected failure of an operation; the `problem` field distinguishes it from a result. */
export interface Problem {
  problem: ErrorCode
  message: string
  param?: string
  details?: Record<string, unknown>
  /** The `Retry-After` header [s]. */
  retryAfterS?: number
  /** Additional headers, such as the `Content-Range` of a 416. */
  headers?: Record<string, string>
}

export function problem(code: ErrorCode, message: string, more: Omit<Problem, 'problem' | 'message'> = {}): Problem {
  return { problem: code, message, ...more }
}

/** 400 for a parameter with a value that it cannot have. */
export const invalid = (param: string, message: string): Problem => problem('parameter_invalid', message, { param })

/** 400 for a parameter without which the others mean nothing. */
export const needed = (param: string, message: string): Problem => problem('parameter_missing', message, { param })

/** 404 for an object of this kind. */
export const missing = (kind: string, id: string): Problem =>
  problem('resource_missing', `No such ${kind.replaceAll('_', ' ')}: ${id}`, { param: 'id' })

/**
 * 404 for the file of an existing object: without shared storage, a node has only its own files (README, "Several nodes").
 * `node`: another one that may have it.
 */
export const fileMissing = (kind: string, id: string, node: string | null = null): Problem =>
  problem('resource_missing', `This node does not have the file of this ${kind.replaceAll('_', ' ')}: ${id}`, {
    param: 'id',
    details: { reason: 'file_not_here', ...(node === null ? {} : { node }) },
  })

/** 409; `reason` is the stable word in `error.details.reason`. */
export const conflict = (reason: string, message: string): Problem =>
  problem('resource_conflict', message, { details: { reason } })

export const isProblem = (value: unknown): value is Problem =>
  typeof value === 'object' && value !== null && 'problem' in value

/** The store cannot be reached or written. The request was fine. */
export const storeUnavailable = (retryAfterS?: number): Problem =>
  problem(
    'store_unavailable',
    'The database cannot be reached or written.',
    retryAfterS === undefined ? {} : { retryAfterS },
  )

/** The JSON body of an error answer. */
export function envelope(failure: Problem, requestId: string, baseUrl: string): object {
  return {
    error: {
      type: ERRORS[failure.problem].type,
      code: failure.problem,
      message: failure.message,
      param: failure.param ?? null,
      doc_url: `${baseUrl}/docs/errors#${failure.problem}`,
      request_id: requestId,
      ...(failure.details === undefined ? {} : { details: failure.details }),
    },
  }
}
