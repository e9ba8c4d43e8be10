import Type, { type Static } from 'typebox'
import { IDENTITY_FORMS, REDIRECT_FORMS } from '../../media/protocol.ts'
import { invalid, type Problem } from '../http/errors.ts'
import { oneOf, partialInput } from '../kernel/schema.ts'
import type { ConnectionRow } from './tables.ts'

/** Fields of a connection that say how it sends and trusts caller identity. */
export const identityFields = {
  identity: oneOf([...IDENTITY_FORMS], {
    description:
      'How the far end learns the caller, besides From. from: not at all; asserted: P-Asserted-Identity; preferred: P-Preferred-Identity; remote_party_id: Remote-Party-ID. With the last three, the far end learns who makes an anonymous call and is asked to tell nobody (`Privacy: id`).',
  }),
  redirect_headers: oneOf([...REDIRECT_FORMS], {
    description:
      'How it learns whom a forwarded or redirected (3xx) call was for. diversion: RFC 5806; history_info: RFC 7044; none.',
  }),
  trust_identity: Type.Boolean({
    description:
      "The far end's assertions about callers are trusted (P-Asserted-Identity, a screened Remote-Party-ID, P-Preferred-Identity). They are `identity.asserted` of its calls, and `from` if From is anonymous. For carriers, not for phones.",
  }),
  sign_calls: Type.Boolean({
    description:
      "Calls are signed with the installation's certificate (STIR/SHAKEN): attestation A from one of the `phone_numbers`, C for a forwarded call, B otherwise. 400 if the installation has none (`TANDEM_STIR_KEY`).",
  }),
  verify_calls: oneOf(['off', 'show', 'require'], {
    description:
      'Whether signatures of its calls are verified (STIR/SHAKEN). show: the result is in `identity.verification` and `attestation` of the call. require: an unsigned call is refused with 428, one with an invalid signature with 403, 436, 437 or 438. 400 if the installation trusts no authority (`TANDEM_STIR_TRUST_ANCHORS`).',
  }),
  show_private_callers: Type.Boolean({
    description:
      'Callers who request privacy (Privacy: id, user, header) are shown anyway, with `identity.anonymous`. For emergency services and others who may see them by law. False: such a caller is neither shown nor stored.',
  }),
}

const whole = Type.Object(identityFields)
const part = partialInput(identityFields)

type Columns = Pick<ConnectionRow, keyof typeof identityFields>

export const identityOf = (row: Columns): Static<typeof whole> => ({
  identity: row.identity,
  redirect_headers: row.redirect_headers,
  trust_identity: row.trust_identity === 1,
  sign_calls: row.sign_calls === 1,
  verify_calls: row.verify_calls,
  show_private_callers: row.show_private_callers === 1,
})

export const NO_IDENTITY: Columns = {
  identity: 'from',
  redirect_headers: 'diversion',
  trust_identity: 0,
  show_private_callers: 0,
  sign_calls: 0,
  verify_calls: 'off',
}

/** Whether the installation can sign and verify calls. */
export interface StirAbilities {
  signs: boolean
  verifies: boolean
}

/** Why a connection cannot have these settings. */
export function stirProblem(body: Static<typeof part>, { signs, verifies }: StirAbilities): Problem | null {
  if (body.sign_calls === true && !signs) {
    return invalid('sign_calls', 'This installation has no certificate for signing calls (TANDEM_STIR_KEY).')
  }
  const isJudged = body.verify_calls === 'show' || body.verify_calls === 'require'
  if (!isJudged || verifies) return null
  return invalid('verify_calls', 'This installation trusts no authority for signed calls (TANDEM_STIR_TRUST_ANCHORS).')
}
