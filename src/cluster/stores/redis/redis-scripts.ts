import { createHash } from 'node:crypto';
import { ENTRY_VERSION } from '../entry.ts';
import { MAX_KEYED_BYTES } from '../keyed-fields.ts';

/** A Lua script and its SHA-1, which is how a store that knows the script is told to run it. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/**
 * The commands of a `RedisStore`, including those in its scripts, as in `ACL SETUSER`. A database other than 0 needs
 * `select`, too. The keys are `~gw:{NAMESPACE:*`.
 */
export const STORE_COMMANDS = [
  'ping',
  'info',
  'time',
  'eval',
  'evalsha',
  'xadd',
  'xread',
  'xrange',
  'xrevrange',
  'xinfo|stream',
  'hmget',
  'hgetall',
  'hlen',
  'hset',
  'hdel',
  'hscan',
  'get',
  'set',
  'del',
  'pttl',
  'zadd',
  'zscore',
  'zcount',
  'zrangebyscore',
  'zrevrange',
  'zrem',
] as const;

/** Further commands for a store with Sentinels, and for a Redis Cluster. */
export const MORE_COMMANDS = { sentinel: ['role'], cluster: ['cluster|slots', 'asking'] } as const;

/**
 * The stream, and the hash beside it: `c` is the newest counter, `b` the time of the first `LOOK`, and `o:ORIGIN
 * INCARNATION` is `SEQUENCE TIME COUNTER`.
 */
export function streamKeys(namespace: string, stream: string): readonly [key: string, hash: string] {
  const key = `gw:{${namespace}:${stream}}`;
  return [key, `${key}:n`];
}

/** The stream, its hash, the newest entry of each key, and when keys expire (a sorted set). */
export function keyedKeys(
  namespace: string,
  stream: string,
): readonly [key: string, hash: string, entriesByKey: string, expiries: string] {
  const [key, hash] = streamKeys(namespace, stream);
  return [key, hash, `${key}:k`, `${key}:x`];
}

/** The key of a lease. */
export function leaseKey(namespace: string, name: string): string {
  return `gw:{${namespace}:le:${name}}`;
}

/**
 * The times of heartbeats by node (a sorted set, on the store's clock), the facts of nodes (`INCARNATION FACTS`), and
 * the digests of streams (`DIGEST NODE`).
 */
export function nodeKeys(
  namespace: string,
): readonly [nodes: string, factsByNode: string, digestsByStream: string] {
  const key = `gw:{${namespace}:nodes}`;
  return [key, `${key}:f`, `${key}:d`];
}

/**
 * A bucket of a rate limit: its fill level, and when that was written (ms on the store's clock). No colon in the hash.
 */
export function bucketKey(namespace: string, zone: string, keyHash: string): string {
  return `gw:{${namespace}:li:${zone}:${keyHash}}`;
}

/** No stream can have had so many entries: a larger counter was not written by gw. */
const MOST_COUNTER = 999_999_999_999_999;

/** A window of a quota: how many requests it has counted. No colon in the hash. */
export function quotaKey(namespace: string, zone: string, keyHash: string): string {
  return `gw:{${namespace}:qu:${zone}:${keyHash}}`;
}

/** Reads a number that a node has written; 0 for anything else. */
const NUMBERS = `
local function count(text)
  local number = tonumber(text)
  return number and number >= 0 and number <= ${MOST_COUNTER} and math.floor(number) or 0
end
local function text(number) return string.format('%.0f', number) end
`;

/**
 * Without a stream there are no first and last entries. XINFO gives the last id even if all entries were trimmed. After
 * a larger id than a node can have made, no entry could be added: the stream is deleted. Nodes see that as missing
 * entries.
 */
const STREAM_ENDS = `${NUMBERS}
local function ends(stream)
  local facts = redis.pcall('XINFO', 'STREAM', stream)
  if facts.err then
    if string.find(facts.err, 'no such key', 1, true) then return 0, nil end
    return nil, facts
  end
  local newest, oldest = 0, nil
  for at = 1, #facts, 2 do
    if facts[at] == 'last-generated-id' then newest = tonumber(string.match(facts[at + 1], '^%d+'))
    elseif facts[at] == 'first-entry' and facts[at + 1] then oldest = facts[at + 1][1] end
  end
  if newest > ${MOST_COUNTER} then
    redis.call('DEL', stream)
    return 0, nil
  end
  return newest, oldest
end
`;

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/** Nodes without a heartbeat for this long are forgotten, a few per heartbeat. */
const FORGOTTEN_AFTER_MS = 86_400_000;

/** Above this number of incarnations of a stream, those without a kept entry or silent for a day are forgotten. */
const MANY_ORIGINS = 1_000;

/**
 * KEYS stream, hash; ARGV retain, origin, incarnation, then for each entry its sequence, its MAC, the number of its
 * texts and the texts. Gives a counter per entry; 0 if its sequence is not above the last one.
 *
 * The hash may be lost, or another program may have added to the stream. If XADD refuses the id, counting therefore
 * goes on after the last id of the stream. Old incarnations are forgotten once there are more than `m`.
 */
export const APPEND = script(`${STREAM_ENDS}${NOW}
local stream, hash, retain, origin, incarnation = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]
local own = 'o:' .. origin .. ' ' .. incarnation
local kept = redis.call('HMGET', hash, 'c', own, 'm')
local counter, last = count(kept[1]), count(string.match(kept[2] or '', '^%d+'))

local function add(entry)
  return redis.pcall('XADD', stream, 'MAXLEN', '~', retain, text(counter + 1) .. '-0', unpack(entry))
end

local counters, fault, before, at = {}, nil, last, 4
while at <= #ARGV and not fault do
  local sequence, size = tonumber(ARGV[at]), tonumber(ARGV[at + 2])
  if sequence <= last then counters[#counters + 1] = 0
  else
    local entry = { 'v', '${ENTRY_VERSION}', 'origin', origin, 'incarnation', incarnation, 'sequence', ARGV[at], 'mac', ARGV[at + 1] }
    for nth = at + 3, at + 2 + size do entry[#entry + 1] = ARGV[nth] end
    local added = add(entry)
    if type(added) == 'table' then
      local newest = ends(stream)
      if newest then
        counter = math.max(counter, newest)
        added = add(entry)
      end
    end
    if type(added) == 'table' then fault = added
    else
      counter, last = counter + 1, sequence
      counters[#counters + 1] = counter
    end
  end
  at = at + 3 + size
end

if last == before then return fault or counters end
redis.call('HSET', hash, 'c', text(counter), own, text(last) .. ' ' .. text(now) .. ' ' .. text(counter))
if not kept[2] and redis.call('HLEN', hash) > (tonumber(kept[3]) or ${MANY_ORIGINS}) then
  local all = redis.call('HGETALL', hash)
  for nth = 1, #all, 2 do
    local usedMs, used = string.match(all[nth + 1], '^%d+ (%d+) (%d+)$')
    local isOld = used and (tonumber(used) <= counter - tonumber(retain) or tonumber(usedMs) < now - ${FORGOTTEN_AFTER_MS})
    if isOld and string.sub(all[nth], 1, 2) == 'o:' then redis.call('HDEL', hash, all[nth]) end
  end
  redis.call('HSET', hash, 'm', math.max(${MANY_ORIGINS}, 2 * redis.call('HLEN', hash)))
end
return fault or counters
`);

/**
 * KEYS stream, hash; ARGV counter, origin, incarnation. Gives the newest counter, the oldest id that is kept or nil,
 * the last sequence of the incarnation, the MAC of the entry with the counter or nil, the time in ms, and the time of
 * the first call (0 if the store takes no writes).
 */
export const LOOK = script(`${STREAM_ENDS}${NOW}
local stream, hash = KEYS[1], KEYS[2]
local newest, oldest = ends(stream)
if not newest then return oldest end
local kept = redis.call('HMGET', hash, 'c', 'o:' .. ARGV[2] .. ' ' .. ARGV[3], 'b')
local birth = count(kept[3])
if birth == 0 and type(redis.pcall('HSET', hash, 'b', text(now))) == 'number' then birth = now end
local last = text(count(string.match(kept[2] or '', '^%d+')))
local entry, mac = redis.call('XRANGE', stream, ARGV[1], ARGV[1], 'COUNT', 1)[1], false
if entry then
  local texts = entry[2]
  mac = texts[2] == '${ENTRY_VERSION}' and texts[9] == 'mac' and #texts[10] < 100 and texts[10] or ''
end
return { text(math.max(newest, count(kept[1]))), oldest or false, last, mac, text(now), text(birth) }
`);

/**
 * KEYS stream; ARGV XRANGE or XREVRANGE, two ids, 1 if the first id was read before, number of entries, bytes. Gives
 * entries up to the total size, and 1 if there may be more. An entry that alone exceeds the size comes without its
 * texts.
 */
export const PAGE = script(`
local from, isRead, count, most = ARGV[2], ARGV[4] == '1', tonumber(ARGV[5]), tonumber(ARGV[6])
local entries, bytes = {}, 0
while #entries < count do
  -- Redis 6.0 has no open intervals: the entry that was read before is read again.
  local nth = isRead and 2 or 1
  local entry = redis.call(ARGV[1], KEYS[1], from, ARGV[3], 'COUNT', nth)[nth]
  if not entry then return { entries, 0 } end
  local size = 0
  for _, one in ipairs(entry[2]) do size = size + #one + 16 end
  if size > most then
    entry, size = { entry[1], {} }, 0
  elseif bytes + size > most then
    break
  end
  bytes, from, isRead = bytes + size, entry[1], true
  entries[#entries + 1] = entry
end
return { entries, 1 }
`);

/** Removes nodes and their digests. */
const FORGET = `
local nodes, facts, digests = KEYS[1], KEYS[2], KEYS[3]
local function forget(ids)
  if #ids == 0 then return end
  redis.call('ZREM', nodes, unpack(ids))
  redis.call('HDEL', facts, unpack(ids))
  local gone = {}
  for _, id in ipairs(ids) do gone[id] = true end
  local said = redis.call('HGETALL', digests)
  for at = 1, #said, 2 do
    if gone[string.match(said[at + 1], '^%S* (.*)$')] then redis.call('HDEL', digests, said[at]) end
  end
end
local function incarnationOf(id) return string.match(redis.call('HMGET', facts, id)[1] or '', '^%S*') end
`;

/**
 * KEYS nodes, facts, digests; ARGV node, incarnation, facts, heartbeat in ms, then streams and digests. Gives the
 * number of live nodes, 1 if another incarnation is live, then streams with other digests and the nodes that have them.
 */
export const BEAT = script(`${FORGET}${NOW}
local id, incarnation, since = ARGV[1], ARGV[2], now - 3 * tonumber(ARGV[4])
local function isLive(node) return (tonumber(redis.call('ZSCORE', nodes, node)) or 0) > since end
local former = incarnationOf(id)
local heard = { 0, former ~= '' and former ~= incarnation and isLive(id) and 1 or 0 }
redis.call('ZADD', nodes, now, id)
redis.call('HSET', facts, id, incarnation .. ' ' .. ARGV[3])
for at = 5, #ARGV, 2 do
  local stream, digest = ARGV[at], ARGV[at + 1]
  local said, node = string.match(redis.call('HMGET', digests, stream)[1] or '', '^(%S*) (.*)$')
  local isHeld = node and node ~= id and isLive(node)
  if isHeld and said ~= digest then
    heard[#heard + 1] = stream
    heard[#heard + 1] = node
  elseif not isHeld and (node ~= id or said ~= digest) then
    redis.call('HSET', digests, stream, digest .. ' ' .. id)
  end
end
forget(redis.call('ZRANGEBYSCORE', nodes, '-inf', now - ${FORGOTTEN_AFTER_MS}, 'LIMIT', 0, 10))
heard[1] = redis.call('ZCOUNT', nodes, '(' .. string.format('%.0f', since), '+inf')
return heard
`);

/** KEYS nodes, facts, digests; ARGV node, incarnation. */
export const LEAVE = script(`${FORGET}
if incarnationOf(ARGV[1]) == ARGV[2] then forget({ ARGV[1] }) end
return 1
`);

/** KEYS nodes, facts, digests; ARGV number of nodes, bytes. Gives ages, names and facts, the latest heartbeat first. */
export const MEMBERS = script(`${NOW}
local found = redis.call('ZREVRANGE', KEYS[1], 0, tonumber(ARGV[1]) - 1, 'WITHSCORES')
local members, bytes = {}, 0
for at = 1, #found, 2 do
  local facts = redis.call('HMGET', KEYS[2], found[at])[1] or ''
  bytes = bytes + #found[at] + #facts
  if bytes > tonumber(ARGV[2]) then break end
  members[#members + 1] = math.max(0, math.min(now - tonumber(found[at + 1]), ${MOST_COUNTER}))
  members[#members + 1] = found[at]
  members[#members + 1] = facts
end
return members
`);

/** If the clock of the store has gone back by more than this, somebody has set it. */
const CLOCK_SET_MS = 60_000;

/**
 * KEYS bucket; ARGV thousandths of requests per second, burst in thousandths, number of requests. Gives how many
 * requests the bucket has taken, and its fill level with the first of them; each further one adds 1000. If it has taken
 * none: 0, and the level that was too high.
 *
 * nginx's leaky bucket, as in the limit_req module. An empty bucket has no key: nginx does not count the first request
 * of a key.
 */
export const ADMIT = script(`${NOW}
local rate, burst, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local kept = redis.pcall('GET', KEYS[1])
local fill, written = string.match(type(kept) == 'string' and kept or '', '^(%d+) (%d+)$')
local first, elapsed = 0, 1
fill, written = tonumber(fill), tonumber(written)
if fill and fill <= ${MOST_COUNTER} then
  elapsed = now - written
  elapsed = elapsed < -${CLOCK_SET_MS} and 1 or math.max(0, elapsed)
  first = math.max(0, fill - math.floor(rate * elapsed / 1000) + 1000)
end
if first > burst then return { 0, first } end
local taken = math.min(wanted, 1 + math.floor((burst - first) / 1000))
local last = first + (taken - 1) * 1000
if elapsed > 0 then written = now end
local expires = written - now + math.ceil((last + 1000) * 1000 / rate)
redis.call('SET', KEYS[1], string.format('%.0f %.0f', last, written), 'PX', string.format('%.0f', math.max(1, expires)))
return { taken, first }
`);

/**
 * KEYS window; ARGV limit, number of requests that must fit (negative: that are given back), number of further ones,
 * lifetime in ms. Gives how many
 * requests were counted, and how many are counted now.
 */
export const COUNT = script(`${NUMBERS}
local limit, needed, more = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local kept = redis.pcall('GET', KEYS[1])
local used = count(type(kept) == 'string' and kept or '')
local left = limit - used
if left < needed then return { 0, used } end
local now = math.max(0, used + math.min(left, needed + more))
redis.call('SET', KEYS[1], text(now), 'PX', ARGV[4])
return { math.max(0, now - used), now }
`);

/** How long deletions are kept, so that a node that was away does not overwrite one with an old value. */
const DELETED_MS = 600_000;

/**
 * Keyed streams keep entries as `{ counter, entry }`. An entry is a list of names and values in turn: version, origin,
 * incarnation, sequence, MAC, the time (`at`), then those of `keyedFields`.
 */
const KEPT_ENTRY = `
local function kept(packed)
  if not packed then return 0, {} end
  local isPacked, one = pcall(cmsgpack.unpack, packed)
  if not isPacked or type(one) ~= 'table' or type(one[1]) ~= 'number' or type(one[2]) ~= 'table' then return 0, {} end
  if one[1] ~= count(one[1]) then return 0, {} end
  return one[1], one[2]
end
`;

/**
 * KEYS stream, hash, entries by key, expiries; ARGV retain, origin, incarnation, then for each entry its sequence, its
 * MAC, the number of its texts and the texts. Gives a counter per entry; 0 if it was superseded.
 */
export const WRITE = script(`${STREAM_ENDS}${NOW}${KEPT_ENTRY}
local stream, hash, byKey, expiries, retain, origin, incarnation = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1], ARGV[2], ARGV[3]
local counter = count(redis.call('HMGET', hash, 'c')[1])
local before = counter

local function keep(key, entry, lifeMs)
  redis.call('HSET', byKey, key, cmsgpack.pack({ counter, entry }))
  if lifeMs > 0 then redis.call('ZADD', expiries, now + lifeMs, key)
  else redis.call('ZREM', expiries, key) end
end

local function write(sequence, mac, texts)
  local key, seen, lifeMs = texts[2], tonumber(texts[4]), tonumber(texts[6])
  local held, former = kept(redis.call('HMGET', byKey, key)[1])
  if held > counter then counter = math.max(counter, ends(stream) or 0) end
  -- No node can have seen a counter that the stream has not reached.
  if held > counter then held, former = 0, {} end
  if former[4] == origin and former[6] == incarnation then
    if former[8] == sequence then return held end
    if (tonumber(former[8]) or 0) > tonumber(sequence) then return 0 end
  elseif held > seen then
    local expires = tonumber(redis.call('ZSCORE', expiries, key))
    local isSame = texts[8] and former[20] == texts[8] and (former[18] == '0') == (lifeMs == 0)
    if not expires or expires > now then return isSame and held or 0 end
  end
  local entry = { 'v', '${ENTRY_VERSION}', 'origin', origin, 'incarnation', incarnation, 'sequence', sequence, 'mac', mac, 'at', text(now) }
  for _, one in ipairs(texts) do entry[#entry + 1] = one end
  local function add() return redis.pcall('XADD', stream, 'MAXLEN', '~', retain, text(counter + 1) .. '-0', unpack(entry)) end
  local added = add()
  if type(added) == 'table' then
    counter = math.max(counter, ends(stream) or 0)
    added = add()
  end
  if type(added) == 'table' then return nil, added end
  counter = counter + 1
  keep(key, entry, texts[8] and lifeMs or ${DELETED_MS})
  return counter
end

local counters, fault, at = {}, nil, 4
while at <= #ARGV and not fault do
  local size, texts, result = tonumber(ARGV[at + 2]), {}, nil
  for nth = at + 3, at + 2 + size do texts[#texts + 1] = ARGV[nth] end
  result, fault = write(ARGV[at], ARGV[at + 1], texts)
  if result then counters[#counters + 1] = text(result) end
  at = at + 3 + size
end
if counter > before then redis.call('HSET', hash, 'c', text(counter)) end
for _, key in ipairs(redis.call('ZRANGEBYSCORE', expiries, '-inf', now, 'LIMIT', 0, 10 + #counters)) do
  redis.call('HDEL', byKey, key)
  redis.call('ZREM', expiries, key)
end
return fault or counters
`);

/**
 * KEYS stream, hash, entries by key, expiries; ARGV cursor of HSCAN, about how many keys. Gives the next cursor, then
 * ids and entries of keys that have not expired. An entry that is malformed or too large comes without texts.
 */
export const SCAN_KEYS = script(`${STREAM_ENDS}${NOW}${KEPT_ENTRY}
local part = redis.call('HSCAN', KEYS[3], ARGV[1], 'COUNT', ARGV[2])
local found = { part[1] }
for nth = 1, #part[2], 2 do
  local packed = part[2][nth + 1]
  local counter, entry = 0, {}
  if #packed <= ${2 * MAX_KEYED_BYTES} then counter, entry = kept(packed) end
  local expires = tonumber(redis.call('ZSCORE', KEYS[4], part[2][nth]))
  if not expires or expires > now then
    for at, one in ipairs(entry) do entry[at] = tostring(one) end
    found[#found + 1] = { text(counter) .. '-0', entry }
  end
end
return found
`);

/** Longest time for which a lease can be taken. */
const LONGEST_LEASE_MS = 86_400_000;

/** KEYS lease; ARGV owner, ms. Gives 1 if the owner has it now. A value without such an expiry is not gw's. */
export const LEASE = script(`
local owner, leftMs = redis.pcall('GET', KEYS[1]), redis.call('PTTL', KEYS[1])
local isHeld = type(owner) == 'string' and leftMs >= 0 and leftMs <= ${LONGEST_LEASE_MS}
if isHeld and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`);

/** KEYS lease; ARGV owner. Ends the lease, so that others can take it. */
export const RELEASE = script(`
if redis.pcall('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
`);
