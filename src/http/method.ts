/** Methods that are served; others that nginx would read get 405, the rest 400. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** What nginx takes for a method: no digits. */
const METHOD = /^[A-Z_-]+$/;
/** Never served, whatever the configuration asks for (nginx). */
const REFUSED: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK']);

/**
 * The status that refuses a method, 0 for none. `anyMethod`: somebody forwards requests, and upstreams may know methods that
 * are not served here; WebDAV has two dozen of them.
 */
export function methodRefusal(method: string, anyMethod: boolean): 0 | 400 | 405 {
  if (method === 'GET' || METHODS.has(method)) return 0;
  if (!METHOD.test(method)) return 400;
  return anyMethod && !REFUSED.has(method) ? 0 : 405;
}
