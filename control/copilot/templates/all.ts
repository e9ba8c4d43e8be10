import { readFileSync } from 'node:fs'
import { PACKAGE_ROOT } from '../../kernel/package.ts'
import type { ProfileSettings } from '../schema.ts'

/** A profile to begin with: what it does not say has its default. */
export interface CopilotTemplate {
  id: string
  name: string
  description: string
  settings: Partial<ProfileSettings>
}

/** Documents, as the API takes them. */
const FILE = new URL('fixtures/copilot/templates.json', PACKAGE_ROOT)

export const COPILOT_TEMPLATES: readonly CopilotTemplate[] = JSON.parse(readFileSync(FILE, 'utf8'))
