import { encodePath } from '../http/index.ts';
import type { LocationHandler } from './location.ts';

/** Takes the place of a location for the path that lacks its last slash: 301 to the location, with the query. */
export function slashRedirect(location: LocationHandler): LocationHandler {
  return {
    ...location,
    internal: false,
    postRead: undefined,
    rewrite: undefined,
    except: undefined,
    answer: (x) => x.redirect(301, `${encodePath(x.uri)}/${x.args === '' ? '' : `?${x.args}`}`),
  };
}
