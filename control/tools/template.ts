/** `{{parameter}}`, and `{{secret:NAME}}`. */
const PLACE = /\{\{\s*(?:(secret):)?([^\s{}]+?)\s*\}\}/g

/** The values for a template's placeholders. */
export interface Values {
  /** Arguments given by the model. */
  said: Readonly<Record<string, unknown>>
  /** The call's own values override arguments of the same name. */
  call: Readonly<Record<string, string>>
  secrets: ReadonlyMap<string, string>
}

interface Place {
  whole: string
  name: string
  isSecret: boolean
}

export const placesIn = (text: string): Place[] =>
  [...text.matchAll(PLACE)].map(([whole, secret, name = '']) => ({ whole, name, isSecret: secret !== undefined }))

/** The text with placeholders replaced; `each` encodes a parameter's value. A parameter without a value becomes an empty text. */
export const filledText = (text: string, values: Values, each: (value: string) => string = value => value): string =>
  text.replace(PLACE, (_, secret: string | undefined, name: string) =>
    secret === undefined ? each(written(placed(values, name))) : (values.secrets.get(name) ?? ''),
  )

/** As `filledText`, for all texts in a JSON value. A text that is a single placeholder becomes the parameter's value, or is left out if there is none. */
export function filledDeep(template: unknown, values: Values): unknown {
  if (typeof template === 'string') {
    const [place, ...others] = placesIn(template)
    const isAlone = place !== undefined && others.length === 0 && place.whole === template && !place.isSecret
    return isAlone ? placed(values, place.name) : filledText(template, values)
  }
  if (Array.isArray(template)) return template.map(item => filledDeep(item, values) ?? null)
  if (typeof template !== 'object' || template === null) return template
  return Object.fromEntries(Object.entries(template).map(([name, item]) => [name, filledDeep(item, values)]))
}

/** All texts in a JSON value. */
export function textsIn(template: unknown): string[] {
  if (typeof template === 'string') return [template]
  return typeof template === 'object' && template !== null ? Object.values(template).flatMap(textsIn) : []
}

const placed = ({ said, call }: Values, name: string): unknown =>
  Object.hasOwn(call, name) ? call[name] : Object.hasOwn(said, name) ? said[name] : undefined

const written = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)
