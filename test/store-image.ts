/** Makes the database that stores and products of a run begin with (its argument: the file), so that the migrations run once and not in each of them. */
import { writeImage } from './control/database.ts'

await writeImage(process.argv[2]!)
