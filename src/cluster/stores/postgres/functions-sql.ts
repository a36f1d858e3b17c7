/** The channel of `NOTIFY`; a payload is `NAMESPACE STREAM`. */
export const CHANNEL = 'gw_cluster';

/** Above this number of incarnations of a stream, those without a kept entry or silent for a day are forgotten. */
export const MANY_ORIGINS = 1_000;
/** Old entries are removed each time the counter has grown by this much. */
const TRIMMED_EVERY = 100;
const MOST_TRIMMED = 1_000;
/** Nodes without a heartbeat for this long are forgotten, a few per heartbeat. */
const FORGOTTEN_AFTER = '1 day';

/** A larger counter was not written by gw. */
const MOST_COUNTER = 999_999_999_999_999;

/** Functions run with the rights of their owner, so that gateways need no rights on the tables. */
const DEFINER = `security definer set search_path to ''`;

/** Locks the stream. Each later statement sees what was committed before: counters are in the order of commits. */
const HOLD = `loop
    select s.counter, s.many_origins into newest, many from gw_cluster.streams s
    where s.namespace = of_namespace and s.stream = of_stream for update;
    exit when found;
    insert into gw_cluster.streams (namespace, stream) values (of_namespace, of_stream) on conflict do nothing;
  end loop;
  -- Other programs may have added entries or removed the stream. After the largest counter no entry could be added.
  if newest not between 0 and ${MOST_COUNTER} then
    newest := 0;
  end if;
  delete from gw_cluster.entries e
  where e.namespace = of_namespace and e.stream = of_stream and e.counter > ${MOST_COUNTER};
  select greatest(newest, pg_catalog.max(e.counter)) into newest from gw_cluster.entries e
  where e.namespace = of_namespace and e.stream = of_stream;
  before := newest;`;

/** Removes old entries, and notifies the readers. */
const PUBLISH = `if newest / ${TRIMMED_EVERY} > before / ${TRIMMED_EVERY} then
    delete from gw_cluster.entries e
    where e.namespace = of_namespace and e.stream = of_stream and e.counter in (
      select old.counter from gw_cluster.entries old
      where old.namespace = of_namespace and old.stream = of_stream and old.counter <= newest - retained
      order by old.counter limit ${MOST_TRIMMED}
    );
  end if;
  update gw_cluster.streams s set counter = newest, many_origins = many
  where s.namespace = of_namespace and s.stream = of_stream;
  perform pg_catalog.pg_notify('${CHANNEL}', of_namespace || ' ' || of_stream);`;

/** Returns a counter per entry; 0 if its sequence is not above the last one of its incarnation. */
const APPEND = `create or replace function gw_cluster.append(
  of_namespace text, of_stream text, retained bigint, of_version text, of_origin text, of_incarnation text,
  sequences bigint[], macs text[], lists text[]
) returns setof bigint language plpgsql ${DEFINER} as $gw$
declare
  newest bigint;
  many bigint;
  before bigint;
  last bigint;
  is_known boolean;
begin
  ${HOLD}
  select o.sequence into last from gw_cluster.origins o
  where o.namespace = of_namespace and o.stream = of_stream and o.origin = of_origin and o.incarnation = of_incarnation;
  is_known := found;
  last := coalesce(last, 0);

  for nth in 1 .. pg_catalog.cardinality(sequences) loop
    if sequences[nth] <= last then
      return next 0;
      continue;
    end if;
    newest := newest + 1;
    last := sequences[nth];
    insert into gw_cluster.entries (namespace, stream, counter, version, origin, incarnation, sequence, mac, texts)
    values (of_namespace, of_stream, newest, of_version, of_origin, of_incarnation, last, macs[nth], lists[nth]);
    return next newest;
  end loop;
  if newest = before then
    return;
  end if;

  insert into gw_cluster.origins as o (namespace, stream, origin, incarnation, sequence, counter)
  values (of_namespace, of_stream, of_origin, of_incarnation, last, newest)
  on conflict (namespace, stream, origin, incarnation) do update
  set sequence = excluded.sequence, counter = excluded.counter, used = pg_catalog.now();
  -- Old incarnations are forgotten once there are many.
  if not is_known and (
    select pg_catalog.count(*) from gw_cluster.origins o where o.namespace = of_namespace and o.stream = of_stream
  ) > many then
    delete from gw_cluster.origins o
    where o.namespace = of_namespace and o.stream = of_stream
      and (o.counter <= newest - retained or o.used < pg_catalog.now() - interval '${FORGOTTEN_AFTER}');
    select greatest(${MANY_ORIGINS}, 2 * pg_catalog.count(*)) into many from gw_cluster.origins o
    where o.namespace = of_namespace and o.stream = of_stream;
  end if;
  ${PUBLISH}
end
$gw$;
`;

/**
 * The same for a keyed stream. `hashes` are the hashes of the keys; `contents` tell values, and whether they expire,
 * apart. A counter of 0: another node has written the key after `seen`, with another content.
 */
const WRITE = `create or replace function gw_cluster.write(
  of_namespace text, of_stream text, retained bigint, of_version text, of_origin text, of_incarnation text,
  sequences bigint[], macs text[], lists text[], hashes text[], contents text[], seen bigint[],
  lives_ms bigint[]
) returns setof bigint language plpgsql ${DEFINER} as $gw$
declare
  newest bigint;
  many bigint;
  before bigint;
  now_is timestamptz;
  now_ms bigint;
  held record;
begin
  ${HOLD}
  now_is := pg_catalog.clock_timestamp();
  now_ms := extract(epoch from now_is) * 1000;
  for nth in 1 .. pg_catalog.cardinality(sequences) loop
    -- No node can have seen a counter that the stream has not reached.
    select
      k.counter, k.sequence, k.expires, k.content = contents[nth] as is_same,
      k.origin = of_origin and k.incarnation = of_incarnation as is_own
    into held from gw_cluster.keys k
    where k.namespace = of_namespace and k.stream = of_stream and k.key_hash = hashes[nth] and k.counter <= newest;
    if held.is_own and held.sequence >= sequences[nth] then
      return next case when held.sequence = sequences[nth] then held.counter else 0 end;
      continue;
    elsif not held.is_own and held.counter > seen[nth] and (held.expires is null or held.expires > now_is) then
      return next case when held.is_same then held.counter else 0 end;
      continue;
    end if;
    newest := newest + 1;
    insert into gw_cluster.entries (namespace, stream, counter, version, origin, incarnation, sequence, mac, texts, stored_ms)
    values (
      of_namespace, of_stream, newest, of_version, of_origin, of_incarnation, sequences[nth], macs[nth], lists[nth], now_ms
    );
    insert into gw_cluster.keys as k (
      namespace, stream, key_hash, counter, version, origin, incarnation, sequence, mac, texts, stored_ms, content, expires
    ) values (
      of_namespace, of_stream, hashes[nth], newest, of_version, of_origin, of_incarnation, sequences[nth], macs[nth],
      lists[nth], now_ms, contents[nth], case when lives_ms[nth] > 0 then now_is + lives_ms[nth] * interval '1 millisecond' end
    ) on conflict (namespace, stream, key_hash) do update set
      counter = excluded.counter, version = excluded.version, origin = excluded.origin, incarnation = excluded.incarnation,
      sequence = excluded.sequence, mac = excluded.mac, texts = excluded.texts, stored_ms = excluded.stored_ms,
      content = excluded.content, expires = excluded.expires;
    return next newest;
  end loop;
  delete from gw_cluster.keys k
  where k.namespace = of_namespace and k.stream = of_stream and k.key_hash in (
    select old.key_hash from gw_cluster.keys old
    where old.namespace = of_namespace and old.stream = of_stream and old.expires <= now_is
    order by old.expires limit 10 + pg_catalog.cardinality(sequences)
  );
  if newest = before then
    return;
  end if;
  ${PUBLISH}
end
$gw$;
`;

/** Longest time for which a lease can be taken, whatever the caller asks for. */
const LONGEST_LEASE_MS = 86_400_000;

/** Takes or extends a lease; false if another owner has it. `release` ends it. */
const LEASE = `create or replace function gw_cluster.lease(of_namespace text, of_name text, of_owner text, life_ms bigint)
returns boolean language sql ${DEFINER} as $gw$
  with taken as (
    insert into gw_cluster.leases as l (namespace, name, owner, until)
    values (of_namespace, of_name, of_owner, pg_catalog.clock_timestamp() + least(life_ms, ${LONGEST_LEASE_MS}) * interval '1 millisecond')
    on conflict (namespace, name) do update set owner = excluded.owner, until = excluded.until
    where l.owner = excluded.owner or l.until <= pg_catalog.clock_timestamp()
    returning l.owner
  )
  select exists (select from taken)
$gw$;

create or replace function gw_cluster.release(of_namespace text, of_name text, of_owner text)
returns void language sql ${DEFINER} as $gw$
  delete from gw_cluster.leases l where l.namespace = of_namespace and l.name = of_name and l.owner = of_owner
$gw$;
`;

/** The newest counter. Other programs may have added entries or removed the row of the stream. */
const NEWEST = `greatest(
      (
        select s.counter from gw_cluster.streams s
        where s.namespace = of_namespace and s.stream = of_stream and s.counter <= ${MOST_COUNTER}
      ),
      (
        select pg_catalog.max(e.counter) from gw_cluster.entries e
        where e.namespace = of_namespace and e.stream = of_stream and e.counter <= ${MOST_COUNTER}
      ),
      0
    )`;

/** The end of a stream. `look`: one entry and one incarnation; `tail`: the counter before the last entries. */
const ENDS = `create or replace function gw_cluster.look(
  of_namespace text, of_stream text, of_counter bigint, of_origin text, of_incarnation text
) returns table (newest bigint, oldest bigint, last bigint, version text, mac text, now_ms bigint, birth bigint)
language sql ${DEFINER} as $gw$
  insert into gw_cluster.streams (namespace, stream)
  select of_namespace, of_stream
  where not exists (select from gw_cluster.streams s where s.namespace = of_namespace and s.stream = of_stream)
  on conflict do nothing;
  select
    ${NEWEST},
    (select pg_catalog.min(e.counter) from gw_cluster.entries e where e.namespace = of_namespace and e.stream = of_stream),
    (
      select o.sequence from gw_cluster.origins o
      where o.namespace = of_namespace and o.stream = of_stream and o.origin = of_origin and o.incarnation = of_incarnation
    ),
    known.version, known.mac, (extract(epoch from pg_catalog.clock_timestamp()) * 1000)::bigint,
    (select s.birth from gw_cluster.streams s where s.namespace = of_namespace and s.stream = of_stream)
  from (values (1)) one
  left join (
    select pg_catalog.left(e.version, 100), pg_catalog.left(e.mac, 100) from gw_cluster.entries e
    where e.namespace = of_namespace and e.stream = of_stream and e.counter = of_counter
  ) known (version, mac) on true
$gw$;

create or replace function gw_cluster.tail(of_namespace text, of_stream text, wanted bigint)
returns table (newest bigint, behind bigint) language sql stable ${DEFINER} as $gw$
  select
    ${NEWEST},
    (
      select pg_catalog.min(last.counter) - 1 from (
        select e.counter from gw_cluster.entries e where e.namespace = of_namespace and e.stream = of_stream
        order by e.counter desc limit wanted
      ) last
    )
$gw$;
`;

/** The size of an entry in a reply, and its columns. */
const SIZE = `100 + pg_catalog.octet_length(k.version) + pg_catalog.octet_length(k.origin) + pg_catalog.octet_length(k.incarnation)
        + pg_catalog.octet_length(k.mac) + pg_catalog.octet_length(k.texts)`;
const ENTRY =
  'counter bigint, version text, origin text, incarnation text, sequence bigint, mac text, texts text, stored_ms bigint';

/** Entries in the order of a column, up to a total size, but at least one. One that is too large has no texts. */
function bounded(source: string, order: string): string {
  const shown = ['version', 'origin', 'incarnation', 'mac', 'texts'].map(
    (name) => `case when f.bytes <= largest then f.${name} end as ${name}`,
  );
  return `
    select
      f.${order}, ${order === 'counter' ? '' : 'f.counter, '}f.sequence, f.stored_ms, ${shown.join(', ')},
      pg_catalog.row_number() over sorted as place,
      pg_catalog.sum(case when f.bytes <= largest then f.bytes else 100 end) over sorted as bytes
    from (
      select k.*, ${SIZE} as bytes from ${source}
      order by k.${order} limit wanted
    ) f
    window sorted as (order by f.${order})`;
}

/** Gives entries after counters, of each stream at most `wanted` entries and `most_bytes` bytes. */
const READ = `create or replace function gw_cluster.read(
  of_namespace text, streams text[], behind bigint[], wanted bigint, most_bytes bigint, largest bigint
) returns table (nth bigint, ${ENTRY}) language sql stable ${DEFINER} as $gw$
  select s.nth, e.counter, e.version, e.origin, e.incarnation, e.sequence, e.mac, e.texts, e.stored_ms
  from rows from (pg_catalog.unnest(streams), pg_catalog.unnest(behind)) with ordinality s (stream, behind, nth)
  cross join lateral (${bounded(
    `gw_cluster.entries k
      where k.namespace = of_namespace and k.stream = s.stream and k.counter > s.behind and k.counter <= ${MOST_COUNTER}`,
    'counter',
  )}
  ) e
  where e.place = 1 or e.bytes <= most_bytes
  order by s.nth, e.counter
$gw$;

create or replace function gw_cluster.keys(
  of_namespace text, of_stream text, behind text, wanted bigint, most_bytes bigint, largest bigint
) returns table (key_hash text, ${ENTRY}) language sql stable ${DEFINER} as $gw$
  select e.key_hash, e.counter, e.version, e.origin, e.incarnation, e.sequence, e.mac, e.texts, e.stored_ms
  from (${bounded(
    `gw_cluster.keys k
      where k.namespace = of_namespace and k.stream = of_stream and k.key_hash > behind
        and (k.expires is null or k.expires > pg_catalog.clock_timestamp())`,
    'key_hash',
  )}
  ) e
  where e.place = 1 or e.bytes <= most_bytes
  order by e.key_hash
$gw$;
`;

/**
 * Gives the number of live nodes, and whether another incarnation of this node is live. Then follows a row for each
 * stream of which another node has another digest. Digests are written in one order, so that nodes do not block each
 * other.
 */
const BEAT = `create or replace function gw_cluster.beat(
  of_namespace text, of_node text, of_incarnation text, of_facts text, heartbeat_ms bigint, streams text[], digests text[]
) returns table (members bigint, is_taken boolean, conflict text, other text)
language plpgsql ${DEFINER} as $gw$
declare
  now_is timestamptz := pg_catalog.clock_timestamp();
  since timestamptz := now_is - 3 * heartbeat_ms * interval '1 millisecond';
  said record;
  held record;
  is_held boolean;
begin
  is_taken := exists (
    select from gw_cluster.nodes n where n.namespace = of_namespace and n.node = of_node
      and n.incarnation not in ('', of_incarnation) and n.heard > since
  );
  insert into gw_cluster.nodes as n (namespace, node, incarnation, facts, heard)
  values (of_namespace, of_node, of_incarnation, of_facts, now_is)
  on conflict (namespace, node) do update
  set incarnation = excluded.incarnation, facts = excluded.facts, heard = excluded.heard;
  with gone as (
    delete from gw_cluster.nodes n where n.namespace = of_namespace and n.node in (
      select old.node from gw_cluster.nodes old
      where old.namespace = of_namespace and old.heard < now_is - interval '${FORGOTTEN_AFTER}'
      order by old.node limit 10 for update skip locked
    ) returning n.node
  ), told as (
    select d.stream from gw_cluster.digests d
    where d.namespace = of_namespace and d.node in (select gone.node from gone)
    order by d.stream for update
  )
  delete from gw_cluster.digests d
  where d.namespace = of_namespace and d.stream in (select told.stream from told);
  members := (
    select pg_catalog.count(*) from gw_cluster.nodes n where n.namespace = of_namespace and n.heard > since
  );
  return next;

  for said in
    select t.stream collate "C" as stream, t.digest
    from rows from (pg_catalog.unnest(streams), pg_catalog.unnest(digests)) t (stream, digest) order by 1
  loop
    select d.digest, d.node into held from gw_cluster.digests d
    where d.namespace = of_namespace and d.stream = said.stream;
    is_held := held.node <> of_node and exists (
      select from gw_cluster.nodes n where n.namespace = of_namespace and n.node = held.node and n.heard > since
    );
    if is_held and held.digest <> said.digest then
      conflict := said.stream;
      other := held.node;
      return next;
    elsif is_held is not true and (held.node is distinct from of_node or held.digest <> said.digest) then
      insert into gw_cluster.digests as d (namespace, stream, digest, node)
      values (of_namespace, said.stream, said.digest, of_node)
      on conflict (namespace, stream) do update set digest = excluded.digest, node = excluded.node;
    end if;
  end loop;
end
$gw$;
`;

const NODES = `create or replace function gw_cluster.leave(of_namespace text, of_node text, of_incarnation text)
returns void language sql ${DEFINER} as $gw$
  with gone as (
    delete from gw_cluster.nodes n
    where n.namespace = of_namespace and n.node = of_node and n.incarnation = of_incarnation
    returning n.node
  )
  delete from gw_cluster.digests d using gone where d.namespace = of_namespace and d.node = gone.node
$gw$;

-- Nodes with the time since their last heartbeat, in ms; the latest heartbeat first.
create or replace function gw_cluster.members(of_namespace text, wanted bigint, most_bytes bigint)
returns table (node text, incarnation text, facts text, age_ms bigint) language sql stable ${DEFINER} as $gw$
  select m.node, m.incarnation, m.facts, m.age_ms from (
    select
      n.node, n.incarnation, n.facts,
      greatest(0, extract(epoch from pg_catalog.clock_timestamp() - n.heard) * 1000)::bigint as age_ms,
      pg_catalog.sum(
        pg_catalog.octet_length(n.node) + pg_catalog.octet_length(n.incarnation) + pg_catalog.octet_length(n.facts)
      ) over (order by n.heard desc, n.node) as bytes
    from gw_cluster.nodes n where n.namespace = of_namespace
    order by n.heard desc, n.node limit wanted
  ) m
  where m.bytes <= most_bytes
$gw$;
`;

export const FUNCTIONS = [APPEND, WRITE, LEASE, ENDS, READ, BEAT, NODES].join('\n');
