import { DbrestFault } from './dbrest-fault.ts';

/**
 * PGRST127, 400: grammar of PostgREST that gw knows but does not serve yet. Every such place calls this function and
 * nothing else, so that what is missing can be listed by its callers and goes away one call at a time.
 */
export function notYet(what: string): DbrestFault {
  return new DbrestFault({
    code: 'PGRST127',
    status: 400,
    message: 'Feature not implemented',
    details: `${what} not implemented yet.`,
  });
}
