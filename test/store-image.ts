/**
 * Makes the initial state of a run's stores and products, so that migrations and the first start run only once: an empty database with its
 * tables (first argument: the file), and a data directory after the first start (second argument).
 */
import { copyFileSync, mkdirSync } from 'node:fs'
import { FIRST_KEYS } from '../bench/product.ts'
import { databaseFile } from '../control/kernel/data-dir.ts'
import { openStore } from '../control/kernel/store/store.ts'
import { openVault } from '../control/kernel/vault.ts'
import { vaultFits } from '../control/kernel/vault-check.ts'
import { firstStart } from '../control/wiring/first-start.ts'
import { writeImage } from './control/database.ts'

const [image = '', dataDir = ''] = process.argv.slice(2)
await writeImage(image)
mkdirSync(dataDir)
copyFileSync(image, databaseFile(dataDir))
const store = await openStore(databaseFile(dataDir))
await vaultFits(store, openVault(dataDir))
await firstStart(store, FIRST_KEYS, new Date())
await store.close()
