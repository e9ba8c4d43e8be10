const DIST = new URL('../../dist/control/', import.meta.url)

/** A module of the product as `npm run build` made it, without its ending; what the bench itself is run by would slow it down. */
export const built = <Module>(name: string): Promise<Module> => import(new URL(`${name}.js`, DIST).href)
