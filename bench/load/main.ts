import { Refused } from './caller.ts'
import { Load } from './load.ts'
import type { FromLoad, ToLoad } from './messages.ts'

// The process of the load, apart from the bench, so that its CPU does not count for what is measured.
let load: Load | null = null
const tell = (message: FromLoad): void => {
  process.send?.(message)
}

async function obey(message: ToLoad): Promise<void> {
  switch (message.type) {
    case 'prepare':
      load = await Load.start(message.plan)
      tell({ type: 'ready', streamPort: load.streamPort })
      return
    case 'measure': {
      const hooks = { began: () => tell({ type: 'began' }), ended: () => tell({ type: 'ended' }) }
      if (load !== null) tell({ type: 'measured', result: await load.measure(message.seconds, hooks) })
      return
    }
    case 'finish':
      await load?.close()
      process.disconnect()
  }
}

process.on('message', (message: ToLoad) => {
  obey(message).catch((error: unknown) => {
    tell({ type: 'failed', message: String(error), refusedWith: error instanceof Refused ? error.status : null })
  })
})
process.on('disconnect', () => process.exit(0))
