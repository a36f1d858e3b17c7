import { directivesFor, readers, uses } from '../../../config/index.ts';
import type { CoreConfig } from '../../../contract/index.ts';

const HSL = ['http', 'server', 'location'] as const;

/** Directives about responses of upstreams of any protocol. */
export const upstreamResponses = directivesFor<CoreConfig>()({
  cache_tags: {
    contexts: ['location'],
    args: readers.present,
    into: 'cacheTags',
    inherit: 'nameless',
    summary: 'Stored responses have tags, by which they are purged.',
    source: 'gw',
  },
  cache_tags_header: {
    contexts: ['http'],
    args: readers.text,
    into: 'cacheTagsHeader',
    default: 'Cache-Tag',
    summary: 'The header of responses that their tags are taken from, separated by commas.',
    source: 'gw',
  },
  cache_tag_header: {
    contexts: HSL,
    args: readers.text,
    into: 'tagHeader',
    summary:
      'Stored responses have the tags of this header: "cache_tags" and "cache_tags_header" in one. A response with more than 64 tags, or longer ones than 64 bytes, is not stored.',
    source: 'gw',
  },
  cache_purge_cluster: {
    contexts: HSL,
    args: readers.text,
    into: 'purgeCluster',
    roles: uses('cluster'),
    summary: 'The cluster whose gateways purge what is purged here.',
    source: 'gw',
  },
  cache_purge_on_gap: {
    contexts: HSL,
    args: readers.oneOf('expire', 'keep'),
    into: 'purgeOnGap',
    default: 'expire',
    summary:
      'What happens to stored responses if purges of other gateways were missed, which may have meant them: they are removed, or kept.',
    source: 'gw',
  },
  slice: {
    contexts: HSL,
    args: readers.size,
    into: 'sliceBytes',
    default: 0,
    summary:
      'Responses are fetched and stored in pieces of this size; the key and the Range header of the request have to contain $slice_range. 0: they are fetched whole.',
    source: 'nginx ngx_http_slice_module#slice',
  },
});
