/** Moving through a graph with the arrow keys: along an edge, or to the nearest node above and below. */
import type { Place } from "./layout";
import type { DrawnEdge } from "./model";

export type Direction = "left" | "right" | "up" | "down";

/** The node to go to, or the same one where there is none that way. Without a node: the first by place. */
export function neighbour(
  from: string | null,
  direction: Direction,
  edges: readonly DrawnEdge[],
  places: ReadonlyMap<string, Place>,
): string | null {
  const here = from === null ? undefined : places.get(from);
  if (from === null || here === undefined) return first(places);
  if (direction === "left" || direction === "right") {
    const along = edges.flatMap((edge) =>
      direction === "right" ? (edge.from === from ? [edge.to] : []) : edge.to === from ? [edge.from] : [],
    );
    return nearest(along, here, places, (place) => Math.abs(place.y - here.y)) ?? from;
  }
  const sign = direction === "down" ? 1 : -1;
  const beyond = [...places.keys()].filter((id) => sign * ((places.get(id) as Place).y - here.y) > 0);
  // A node of the same rank is preferred to a nearer one of another.
  const far = (place: Place) => Math.abs(place.y - here.y) + 4 * Math.abs(place.x - here.x);
  return nearest(beyond, here, places, far) ?? from;
}

function first(places: ReadonlyMap<string, Place>): string | null {
  let best: [string, Place] | null = null;
  for (const entry of places) {
    if (best === null || entry[1].x < best[1].x || (entry[1].x === best[1].x && entry[1].y < best[1].y)) best = entry;
  }
  return best?.[0] ?? null;
}

function nearest(
  ids: readonly string[],
  here: Place,
  places: ReadonlyMap<string, Place>,
  far: (place: Place) => number,
): string | null {
  let best: string | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const id of ids) {
    const place = places.get(id);
    if (place === undefined || place === here) continue;
    const distance = far(place);
    if (distance < least) [best, least] = [id, distance];
  }
  return best;
}
