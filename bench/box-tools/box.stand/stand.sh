#!/bin/sh
# So that boxes stand beside those that start.
sleep 1
echo "\"stood\"" >&3
