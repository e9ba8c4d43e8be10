import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FILE = fileURLToPath(new URL('./RESULTS.md', import.meta.url))
const HEAD = `# Bench results

Each section is one run of \`npm run bench -- --record\`, newest first. Absolute figures move from machine to machine and from
hour to hour; the ratio of the engine to the C yardstick (\`bench/yardstick\`), both measured in one run, is what to compare.
`

/** Adds the text of a run to `bench/RESULTS.md`, on top of the earlier ones. `startedAt`: ISO-8601. */
export function recordRun(startedAt: string, text: string): void {
  const earlier = readEarlier()
  const section = `\n## ${startedAt.slice(0, 10)}\n\n\`\`\`text\n${text}\n\`\`\`\n`
  writeFileSync(FILE, `${HEAD}${section}${earlier}`)
}

function readEarlier(): string {
  try {
    const text = readFileSync(FILE, 'utf8')
    const at = text.indexOf('\n## ')
    return at < 0 ? '' : text.slice(at)
  } catch {
    return ''
  }
}
