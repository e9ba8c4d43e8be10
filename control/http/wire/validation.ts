import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import ajvFormats from 'ajv-formats'
import { remembered } from '../../kernel/remembered.ts'
import { didYouMean } from '../did-you-mean.ts'
import { type ErrorCode, type Problem, problem } from '../errors.ts'
import { isTime } from '../time.ts'
import { defaultsOptional } from './defaults.ts'
import { formOf } from './forms.ts'

/** `verbose`: an error includes its schema, and with it the names that an unknown one may have meant. */
const OPTIONS = { allErrors: false, strict: false, useDefaults: true, addUsedSchema: false, verbose: true } as const
/** Its optimiser takes half of the compilation time, and V8 has its own. */
const CODE = { optimize: false } as const

function makeAjv(): Ajv {
  const ajv = new Ajv({ ...OPTIONS, code: CODE })
  ajvFormats.default(ajv)
  ajv.addFormat('date-time', isTime)
  return ajv
}

/** Twice the number in the API; beyond it, the least recently used goes. */
const MAX_COMPILED = 1000

/** Equal schemas share a validator: four of five are duplicates. */
export function compilerOf(ajv: Ajv, max: number): (schema: object) => ValidateFunction {
  const compiled = remembered(max, text => compileOnce(ajv, JSON.parse(text)))
  return schema => compiled(JSON.stringify(schema))
}

/** Ajv itself would cache it forever. */
function compileOnce(ajv: Ajv, schema: object): ValidateFunction {
  try {
    return ajv.compile(schema)
  } finally {
    ajv.removeSchema(schema)
  }
}

/** Validates a part of a request. If it returns false, its `errors` say why. */
export const compileValidator = compilerOf(makeAjv(), MAX_COMPILED)

/** The same for requests of the current version: fields with a default are optional. */
export const compileRequestValidator = (schema: object): ValidateFunction =>
  compileValidator(defaultsOptional(schema) as object)

/** Parameters with so much structure that errors inside them have their own code. */
const CODE_WITHIN: Readonly<Record<string, ErrorCode>> = { graph: 'graph_malformed' }

const codeWithin = (param: string): ErrorCode | undefined => CODE_WITHIN[param.split('.', 1)[0] ?? '']

/** 400 for the parameter at this path. */
export const invalidAt = (param: string, fault: string): Problem =>
  problem(codeWithin(param) ?? 'parameter_invalid', `${param === '' ? 'The body' : param} ${fault}.`, {
    ...(param === '' ? {} : { param }),
  })

/** The problem for Ajv's errors; `param` is a path such as `overflow.action` or `member_user_ids[1]`, and in a query `created[gte]`. */
export function validationProblem(errors: ErrorObject[], part?: string): Problem {
  const found = problemOf(errors, part)
  const param = found.param ?? ''
  if (part !== 'query' || !param.includes('.')) return found
  const written = `${param.replace('.', '[')}]`
  return { ...found, param: written, message: found.message.replace(param, written) }
}

function problemOf(errors: ErrorObject[], part?: string): Problem {
  const error = mostTelling(errors)
  const at = paramPath(error.instancePath)
  const malformed = codeWithin(at)
  const params = error.params as Record<string, unknown>
  if (error.keyword === 'required') {
    const misspelt = misspeltIn(error, at)
    if (misspelt !== null) return misspelt
    const param = join(at, String(params.missingProperty))
    const isEmpty = part === 'body' && at === '' && Object.keys(error.data as object).length === 0
    const empty = isEmpty ? 'The body is empty. ' : ''
    return problem(malformed ?? 'parameter_missing', `${empty}Missing required parameter: ${param}.`, { param })
  }
  if (error.keyword === 'additionalProperties' || error.keyword === 'unevaluatedProperties') {
    const param = join(at, String(params.additionalProperty ?? params.unevaluatedProperty))
    return problem('parameter_unknown', `Unknown parameter: ${param}.${suggestion(error, at, param)}`, { param })
  }
  const param = error.propertyName === undefined ? at : join(at, error.propertyName)
  const allowed = Array.isArray(params.allowedValues) ? `: ${params.allowedValues.join(', ')}` : ''
  return invalidAt(param, `${faultOf(error)}${allowed}`)
}

/** If a required parameter is missing, an unknown one may be its misspelling, or that of an optional one. */
function misspeltIn({ parentSchema, data }: ErrorObject, at: string): Problem | null {
  if (parentSchema?.additionalProperties !== false) return null
  const known = Object.keys((parentSchema.properties as object | undefined) ?? {})
  // A body may have a hundred thousand of them, each to be compared with all that are known.
  for (const name of Object.keys((data ?? {}) as object).slice(0, 100)) {
    if (known.includes(name)) continue
    const [param, meant] = [join(at, name), didYouMean(name, known)]
    if (meant === null) continue
    const message = `Unknown parameter: ${param}. Did you mean ${join(at, meant)}?`
    return problem('parameter_unknown', message, { param })
  }
  return null
}

/** The parameter that was probably meant, as an additional sentence. */
function suggestion({ parentSchema }: ErrorObject, at: string, param: string): string {
  const known = Object.keys((parentSchema?.properties as object | undefined) ?? {})
  const meant = didYouMean(at === '' ? param : param.slice(at.length + 1), known)
  return meant === null ? '' : ` Did you mean ${join(at, meant)}?`
}

/** The fault as a sentence that begins with the parameter. */
function faultOf({ keyword, message = 'is not valid', params }: ErrorObject): string {
  const { limit, type } = params as { limit?: number; type?: string | string[] }
  const least = keyword.startsWith('min') ? 'at least' : 'at most'
  const [one = ''] = [type ?? []].flat()
  switch (keyword) {
    case 'type':
      return one === 'null'
        ? 'must be null'
        : `must be ${/^[aio]/.test(one) ? 'an' : 'a'} ${[type].flat().join(' or ')}`
    case 'minLength':
    case 'maxLength':
      return `must have ${least} ${limit} ${limit === 1 ? 'character' : 'characters'}`
    case 'minItems':
    case 'maxItems':
      return `must have ${least} ${limit} ${limit === 1 ? 'item' : 'items'}`
    case 'uniqueItems':
      return `must not have the same item twice ([${params.j}] and [${params.i}])`
    case 'minProperties':
    case 'maxProperties':
      return `must have ${least} ${limit} ${limit === 1 ? 'pair' : 'pairs'}`
    case 'minimum':
    case 'maximum':
      return `must be ${least} ${limit}`
    case 'pattern':
    case 'format':
      return formOf(String(params.pattern ?? params.format)) ?? message
    default:
      return message
  }
}

/** Of the errors from the branches of an `anyOf`, the deepest one that is not about `null`. */
function mostTelling(errors: ErrorObject[]): ErrorObject {
  const rank = (error: ErrorObject): number =>
    error.instancePath.length * 4 +
    (['anyOf', 'oneOf', 'propertyNames'].includes(error.keyword) ? 0 : 2) +
    (error.keyword === 'type' && (error.params as { type?: string }).type === 'null' ? -1 : 0)
  return errors.reduce((best, error) => (rank(error) > rank(best) ? error : best))
}

const join = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)

function paramPath(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => (/^\d+$/.test(part) && path !== '' ? `${path}[${part}]` : join(path, part)), '')
}
