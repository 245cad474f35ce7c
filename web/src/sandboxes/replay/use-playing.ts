import { useEffect, useRef, useState } from "react";
import type { Axis, Timeline } from "./timeline";

/** Play a session: advance in time and report each step. */
export function usePlaying(timeline: Timeline, axis: Axis, onMove: (index: number) => void) {
  const [isPlaying, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(4);
  const index = useRef(0);
  /** Set when the position was changed by hand; playback continues from there. */
  const moved = useRef(true);
  const newest = useRef({ timeline, onMove });
  useEffect(() => {
    newest.current = { timeline, onMove };
  });
  useEffect(() => {
    if (!isPlaying) return;
    let position = 0;
    let before = performance.now();
    moved.current = true;
    let frame = requestAnimationFrame(function tick(now) {
      const { timeline: time, onMove: move } = newest.current;
      if (moved.current) position = time.steps[index.current]?.[axis] ?? 0;
      else position += Math.max(0, now - before) * speed;
      moved.current = false;
      before = now;
      const reached = time.indexAt(position, axis);
      if (reached !== index.current) {
        index.current = reached;
        move(reached);
      }
      if (position >= time.length(axis)) setPlaying(false);
      else frame = requestAnimationFrame(tick);
    });
    return () => cancelAnimationFrame(frame);
  }, [isPlaying, speed, axis]);

  function seek(to: number): void {
    index.current = to;
    moved.current = true;
  }
  function play(from: number): void {
    seek(from);
    setPlaying(true);
  }
  return { isPlaying, play, pause: () => setPlaying(false), seek, speed, setSpeed };
}
