import { DbrestFault } from './fault.ts';

/** DBREST101, 412: a condition of the request does not hold. Nothing was changed. */
export function conditionFailed(details: string): DbrestFault {
  return new DbrestFault({
    code: 'DBREST101',
    status: 412,
    message: 'A condition of the request does not hold',
    details,
  });
}

/** DBREST103, 400: `If-Match` is no list of entity tags, or a very long one. */
export function malformedIfMatch(): DbrestFault {
  return new DbrestFault({
    code: 'DBREST103',
    status: 400,
    message: 'Malformed "If-Match" header',
    details: 'Expected "*", or at most 100 entity tags: "a", "b".',
  });
}
