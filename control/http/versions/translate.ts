import { kindOfEvent } from '../../kernel/events/catalog.ts'
import { API_VERSIONS } from '../../kernel/versions/all.ts'
import type { Json, Schema, Shape } from '../../kernel/versions/shape.ts'
import type { ApiVersion, Change } from '../../kernel/versions/version.ts'
import { isObject } from '../merge.ts'

/**
 * Handlers, schemas and the database know only the current shapes. A request of an older version is converted up through each version since,
 * and its answer down through them (specification, "Versioning" 9).
 */

type Translate = (value: unknown) => unknown

/** The same operation in an older version. */
interface OlderOperation {
  body: Schema | undefined
  reply: Schema
  /** Converts the older body to the current one. */
  up(body: unknown): unknown
  /** Converts the current answer to the older one. */
  down: Translate
  /** The older name of a parameter. */
  param(path: string): string
}

type Step = Change & { shape: Shape }

/** The changes since `version`, oldest first. */
const stepsSince = (version: string, versions: readonly ApiVersion[]): Step[] =>
  versions
    .filter(({ date }) => date > version)
    .flatMap(({ changes }) => changes.filter((change): change is Step => change.shape !== undefined))

/** Null: nothing about the operation has changed since. */
export function olderOperation(
  operation: { id: string; body?: object; reply: object },
  version: string,
  versions: readonly ApiVersion[] = API_VERSIONS,
): OlderOperation | null {
  const steps = stepsSince(version, versions)
  const bodySteps = operation.body === undefined ? [] : steps.filter(step => step.operations?.includes(operation.id))
  const reply = chain(operation.reply as Schema, steps)
  if (bodySteps.length === 0 && reply.down.length === 0) return null
  return {
    body: bodySteps.reduceRight((schema, { shape }) => shape.schema(schema), operation.body as Schema),
    reply: reply.schema,
    up: body => (isObject(body) ? bodySteps.reduce((object, { shape }) => shape.up(object), body) : body),
    down: value => run(reply.down, value),
    param: path => bodySteps.reduceRight((name, { shape }) => shape.param(name), path),
  }
}

/** An event as stored or shown. */
interface VersionedEvent {
  type: string
  api_version: string
  data: { object: Json; previous_attributes?: Json | undefined }
}

/** Converts an event from the shape of its own `api_version` to another one. */
export function renderEvent<E extends VersionedEvent>(
  event: E,
  version: string,
  versions: readonly ApiVersion[] = API_VERSIONS,
): E {
  const schema = kindOfEvent(event.type)?.object as Schema | undefined
  if (schema === undefined) return { ...event, api_version: version }
  const { up } = chain(schema, stepsSince(event.api_version, versions))
  const { down } = chain(schema, stepsSince(version, versions))
  const render = (value: Json): Json => run(down, run(up, value)) as Json
  const { object, previous_attributes: previous } = event.data
  const data = { ...event.data, object: render(object), ...(previous && { previous_attributes: render(previous) }) }
  return { ...event, api_version: version, data }
}

const run = (translations: Translate[], value: unknown): unknown =>
  translations.reduce((translated, translate) => translate(translated), value)

/** A current schema as it was before `steps`, with the conversions of its values down (in this order) and up. */
function chain(current: Schema, steps: Step[]): { schema: Schema; down: Translate[]; up: Translate[] } {
  const all = { schema: current, down: [] as Translate[], up: [] as Translate[] }
  for (const { shape, objects = [] } of steps.toReversed()) {
    const down = inSchema(all.schema, objects, shape.down)
    if (down === null) continue
    all.schema = schemaBefore(all.schema, objects, shape)
    all.down.push(down)
    all.up.unshift(inSchema(all.schema, objects, shape.up)!)
  }
  return all
}

/**
 * Applies `change` to the named objects wherever the schema says that a value has them; null: nowhere. It goes by the schema, because client
 * data in `metadata` may look like any object.
 */
function inSchema(schema: Schema, objects: readonly string[], change: (object: Json) => Json): Translate | null {
  if (schema.anyOf !== undefined) return inBranches(schema.anyOf, objects, change)
  if (schema.items !== undefined) {
    const each = inSchema(schema.items, objects, change)
    return each && (value => (Array.isArray(value) ? value.map(each) : value))
  }
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, field]): [string, Translate][] => {
    const translate = inSchema(field, objects, change)
    return translate === null ? [] : [[name, translate]]
  })
  const isOne = names(schema, objects)
  if (!isOne && fields.length === 0) return null
  return value => {
    if (!isObject(value)) return value
    const copy = { ...value }
    for (const [name, translate] of fields) if (name in copy) copy[name] = translate(copy[name])
    return isOne ? change(copy) : copy
  }
}

function inBranches(branches: Schema[], objects: readonly string[], change: (object: Json) => Json): Translate | null {
  const touched = branches.flatMap(branch => {
    const translate = inSchema(branch, objects, change)
    return translate === null ? [] : [{ branch, translate }]
  })
  if (touched.length === 0) return null
  return value => touched.find(({ branch }) => fits(branch, value))?.translate(value) ?? value
}

function fits(schema: Schema, value: unknown): boolean {
  if (schema.items !== undefined) return Array.isArray(value)
  const kind = kindOf(schema)
  return isObject(value) && (kind === undefined || kind === value.object)
}

/** The schema, with the former shapes of the named objects. */
function schemaBefore(schema: Schema, objects: readonly string[], shape: Shape): Schema {
  const inner = (part: Schema): Schema => schemaBefore(part, objects, shape)
  const before = {
    ...schema,
    ...(schema.anyOf && { anyOf: schema.anyOf.map(inner) }),
    ...(schema.items && { items: inner(schema.items) }),
    ...(schema.properties && {
      properties: Object.fromEntries(Object.entries(schema.properties).map(([name, field]) => [name, inner(field)])),
    }),
  }
  return names(schema, objects) ? shape.schema(before) : before
}

const names = (schema: Schema, objects: readonly string[]): boolean => objects.includes(kindOf(schema) ?? '')

/** The `object` value of this schema; OpenAPI writes a constant as a list of one. */
export const kindOf = ({ properties }: Schema): string | undefined =>
  (properties?.object?.const ?? properties?.object?.enum?.[0]) as string | undefined
