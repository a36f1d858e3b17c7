/** A function of an object that is computed once per object and cached as long as the object lives. */
export function oncePer<K extends object, V>(compute: (key: K) => V): (key: K) => V {
  const known = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    let kept = known.get(key);
    if (!kept) known.set(key, (kept = { value: compute(key) }));
    return kept.value;
  };
}
