import type { Exchange, Handler } from '../../../http/index.ts';
import type { StaticConfig } from '../config.ts';
import type { Site } from '../site.ts';
import { jsonListing, jsonpListing, xmlListing } from './data.ts';
import { readEntries } from './entries.ts';
import type { Entry } from './entries.ts';
import { htmlListing } from './html.ts';

/** A listing that is still to be written; its type tells the client, and the charset of that tells us, how to read names. */
interface Listing {
  readonly contentType: string;
  write(entries: readonly Entry[], responseType: string): string;
}

/** Lists the directory that `$uri` names (nginx: ngx_http_autoindex_handler). */
export function compileAutoindex(config: StaticConfig, { paths, faults }: Site): Handler {
  const listingFor = compileFormat(config);
  return (x) => {
    const path = paths.of(x, x.uri);
    if (path === undefined) return faults.unsafe(x);
    const directory = path.length > 1 ? path.replace(/\/$/, '') : path;
    const listing = listingFor(x);
    if (!listing) return x.end(400);
    let entries: readonly Entry[];
    try {
      entries = readEntries(directory);
    } catch (error) {
      return faults.answer(x, directory, { call: 'opendir()', error: error as NodeJS.ErrnoException });
    }
    // A filter may name a charset when the head goes out; it does so before the first byte of the body is asked for.
    const stream = x.stream(200, listing.contentType);
    stream?.write(Buffer.from(listing.write(entries, x.responseType), 'latin1'));
    stream?.end();
  };
}

const JSON_LISTING: Listing = { contentType: 'application/json', write: jsonListing };
const XML_LISTING: Listing = { contentType: 'text/xml; charset=utf-8', write: xmlListing };

/** `undefined`: the client asks for something that cannot be. */
function compileFormat(config: StaticConfig): (x: Exchange) => Listing | undefined {
  switch (config.autoindexFormat) {
    case 'json':
      return () => JSON_LISTING;
    case 'xml':
      return () => XML_LISTING;
    case 'jsonp':
      return jsonpFor;
    case 'html': {
      const rules = { exactSize: config.autoindexExactSize, localTime: config.autoindexLocaltime };
      return ({ uri }) => ({
        contentType: 'text/html',
        write: (entries, type) =>
          htmlListing(uri, entries, { ...rules, utf8: /; charset=utf-8$/i.test(type) }),
      });
    }
  }
}

/** The listing as a call of the function that the client names; as JSON where it names none. */
function jsonpFor({ args }: Exchange): Listing | undefined {
  const callback = /(?:^|&)callback=([^&]*)/i.exec(args)?.[1] ?? '';
  if (callback === '') return JSON_LISTING;
  if (!/^[\w.]+$/.test(callback)) return undefined;
  return { contentType: 'application/javascript', write: (entries) => jsonpListing(callback, entries) };
}
