import { DbrestFault } from './fault.ts';

/** DBREST110, 400: the body of a batch is not an array. */
export function notABatch(): DbrestFault {
  return new DbrestFault({ code: 'DBREST110', status: 400, message: 'A batch is a JSON array of requests' });
}

/** DBREST111, 400: an item of a batch is not a request that a batch can run. `why` must not contain parts of the body. */
export function invalidItem(why: string, item: number): DbrestFault {
  const message = 'An item of the batch is not a request that it can run';
  return new DbrestFault({ code: 'DBREST111', status: 400, message, details: why, item });
}

/** DBREST112, 413. */
export function tooManyItems(most: number): DbrestFault {
  const message = `A batch has at most ${most} items`;
  return new DbrestFault({ code: 'DBREST112', status: 413, message });
}

/** DBREST113, 400: nothing of the batch has been done. */
export function tooLargeResponses(mostBytes: number): DbrestFault {
  const message = `The responses of a batch have at most ${mostBytes} bytes together`;
  return new DbrestFault({ code: 'DBREST113', status: 400, message });
}

/**
 * DBREST114, 403: a request that is a part of another one would not be served by its location if it was sent by itself. `refusal`:
 * the status that it would get.
 */
export function notServedHere(refusal: number | undefined): DbrestFault {
  const details =
    refusal === undefined
      ? 'Another location would serve it'
      : `By itself it would get the status ${refusal}`;
  const message = 'The configuration does not serve this as a part of another request';
  return new DbrestFault({ code: 'DBREST114', status: 403, message, details });
}

/** The fault of an item of a batch, by its index. */
export function faultOfItem(fault: DbrestFault, item: number): DbrestFault {
  const { code, status, message, details, hint, logged, isWished, reason, headers } = fault;
  return new DbrestFault({ code, status, message, details, hint, logged, isWished, reason, headers, item });
}
