interface Page<T> {
  items: T[];
  next_cursor: string | null;
}

/** Return the items of every page of a list. */
export async function allItems<T>(load: (cursor: string | undefined) => Promise<Page<T>>): Promise<T[]> {
  const found: T[] = [];
  let cursor: string | undefined;
  do {
    const page = await load(cursor);
    found.push(...page.items);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return found;
}
